"""What an operation gives back: a reply, or an error that becomes an error envelope."""

from dataclasses import dataclass, field
from pathlib import Path

ABSENT = object()
"""Stands for an envelope without `data`."""


@dataclass
class Reply:
    """An answer: `data` for the envelope, or the bytes of a file."""

    data: object = ABSENT
    status: int = 200
    message: str = "ok"
    file: Path | None = None
    headers: dict[str, str] = field(default_factory=dict)


class ApiError(Exception):
    """An answer other than success, with the status as its code."""

    def __init__(self, status: int, message: str, data: object = ABSENT):
        super().__init__(message)
        self.status = status
        self.message = message
        self.data = data


class Breach(ApiError):
    """The client broke the contract: answered with an error and recorded under a rule's name."""

    def __init__(self, rule: str, message: str, status: int = 400):
        super().__init__(status, message)
        self.rule = rule


class Disconnected(Exception):
    """The client left before its request was whole."""


class Cut(Exception):
    """A fault closed the connection: there is nobody to answer."""
