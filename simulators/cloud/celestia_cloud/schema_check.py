"""A checker for the part of JSON Schema that the contract uses; objects refuse properties they do not name."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlsplit

UUID_TEXT = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
RFC3339_TEXT = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")
TYPES = {"string": str, "array": list, "object": dict, "boolean": bool, "null": type(None)}


class Mismatch(Exception):
    """A value that does not fit its schema: where, and why."""


def check(value: Any, schema: dict, where: str = "body") -> None:
    """Raises Mismatch unless the value fits the schema."""
    if "oneOf" in schema:
        _check_one_of(value, schema["oneOf"], where)
        return
    kind = _check_type(value, schema["type"], where)
    if kind == "object":
        _check_object(value, schema, where)
    elif kind == "array":
        for index, item in enumerate(value):
            check(item, schema["items"], f"{where}[{index}]")
    elif kind == "string":
        _check_string(value, schema, where)
    elif kind == "integer":
        _check_integer(value, schema, where)


def parse_rfc3339(text: str) -> datetime:
    """The instant of an RFC 3339 text; raises ValueError. A leap second counts as the second before it."""
    match = RFC3339_TEXT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not RFC 3339")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    micro = int((match[7] or "0")[:6].ljust(6, "0"))
    zone = match[8]
    offset = timedelta(0)
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:])
        if hours > 23 or minutes > 59:
            raise ValueError(f"{text!r} has an impossible offset")
        offset = timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
    try:
        local = datetime(year, month, day, hour, minute, min(second, 59) if second == 60 else second, micro)
        return (local - offset).replace(tzinfo=timezone.utc)
    except OverflowError as error:
        raise ValueError(f"{text!r} is out of range") from error


def _check_one_of(value: Any, schemas: list[dict], where: str) -> None:
    fits = 0
    for schema in schemas:
        try:
            check(value, schema, where)
            fits += 1
        except Mismatch:
            pass
    if fits != 1:
        raise Mismatch(f"{where} fits {fits} of the {len(schemas)} allowed shapes, not one")


def _check_type(value: Any, types: str | list[str], where: str) -> str:
    for name in [types] if isinstance(types, str) else types:
        if name == "integer":
            if isinstance(value, int) and not isinstance(value, bool):
                return name
        elif isinstance(value, TYPES[name]):
            return name
    raise Mismatch(f"{where} must be {types}, not {type(value).__name__}")


def _check_object(value: dict, schema: dict, where: str) -> None:
    for name in schema["required"]:
        if name not in value:
            raise Mismatch(f"{where}.{name} is required")
    for name, item in value.items():
        if name not in schema["properties"]:
            raise Mismatch(f"{where}.{name} is not in the contract")
        check(item, schema["properties"][name], f"{where}.{name}")


def _check_string(value: str, schema: dict, where: str) -> None:
    if len(value) < schema.get("minLength", 0):
        raise Mismatch(f"{where} is shorter than {schema['minLength']}")
    if "const" in schema and value != schema["const"]:
        raise Mismatch(f"{where} must be {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        raise Mismatch(f"{where} is {value!r}, not one of {', '.join(schema['enum'])}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise Mismatch(f"{where} does not match {schema['pattern']}")
    format_name = schema.get("format")
    if format_name == "uuid" and not UUID_TEXT.fullmatch(value):
        raise Mismatch(f"{where} is not a UUID")
    if format_name == "uri" and not urlsplit(value).scheme:
        raise Mismatch(f"{where} is not a URI")
    if format_name == "date-time":
        try:
            parse_rfc3339(value)
        except ValueError as error:
            raise Mismatch(f"{where}: {error}") from None


def _check_integer(value: int, schema: dict, where: str) -> None:
    if not -(2**63) <= value < 2**63:
        raise Mismatch(f"{where} does not fit 64 bits")
    if "minimum" in schema and value < schema["minimum"]:
        raise Mismatch(f"{where} is {value}, below {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        raise Mismatch(f"{where} is {value}, above {schema['maximum']}")
