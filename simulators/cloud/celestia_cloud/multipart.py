"""multipart/form-data, read from the stream in large pieces: text fields in memory, the file straight to disk.

aiohttp's own reader works line by line; this one searches for the boundary in whole socket reads.
"""

import hashlib
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from .replies import Breach

MAX_HEADER_BYTES = 8 * 1024
MAX_FIELD_BYTES = 4 * 1024
MAX_PARTS = 16
BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
PARAMETER = re.compile(r';\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))')


@dataclass
class FilePart:
    """A file that was received into the spool; the owner moves it away or removes it."""

    path: Path
    file_name: str
    mime_type: str | None
    size: int
    sha256: str | None


@dataclass
class Form:
    """The text fields by name, the file, and the order of the parts."""

    fields: dict[str, str] = field(default_factory=dict)
    file: FilePart | None = None
    order: list[str] = field(default_factory=list)


class Spool:
    """A new file that takes at most `limit` bytes; what comes after is counted but not kept."""

    def __init__(self, path: Path, limit: int, hashed: bool):
        self.path = path
        self.size = 0
        self._limit = limit
        self._hash = hashlib.sha256() if hashed else None
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def write(self, piece: memoryview) -> None:
        self.size += len(piece)
        if self.size > self._limit:
            return
        if self._hash:
            self._hash.update(piece)
        while piece:
            piece = piece[os.write(self._descriptor, piece) :]

    def close(self) -> str | None:
        """Gives the digest, where one was asked for."""
        os.close(self._descriptor)
        return self._hash.hexdigest() if self._hash else None


class FormReader:
    """Reads one form. `read` gives the next piece of the body, b"" at its end."""

    def __init__(self, read: Callable[[], Awaitable[bytes]], content_type: str, text_fields: list[str]):
        match = BOUNDARY.search(content_type)
        if not content_type.lower().startswith("multipart/form-data") or not match:
            raise Breach("content-type", f"Content-Type is {content_type!r}, not multipart/form-data with a boundary")
        self._read = read
        self._mark = b"\r\n--" + (match[1] or match[2]).encode("latin-1", "replace")
        self._text_fields = text_fields
        self._buffer = b"\r\n"  # the first boundary has no line before it

    async def form(self, spool: Callable[[], Spool]) -> Form:
        """The whole form. A file that was spooled is removed again when the form turns out to be bad."""
        form = Form()
        try:
            if await self._until(self._mark, MAX_FIELD_BYTES):
                raise Breach("multipart", "bytes before the first boundary")
            while not await self._is_last():
                if len(form.order) == MAX_PARTS:
                    raise Breach("multipart", f"more than {MAX_PARTS} parts")
                await self._part(form, spool)
            while await self._read():
                pass
            if form.file is None:
                raise Breach("multipart-field", "the part 'file' is required")
            return form
        except BaseException:
            if form.file:
                form.file.path.unlink(missing_ok=True)
            raise

    async def _part(self, form: Form, spool: Callable[[], Spool]) -> None:
        headers = _part_headers(await self._until(b"\r\n\r\n", MAX_HEADER_BYTES))
        disposition = _parameters(headers.get("content-disposition", ""))
        name = disposition.get("name")
        if name is None:
            raise Breach("multipart", "a part without Content-Disposition: form-data; name=…")
        if name in form.order:
            raise Breach("multipart-field", f"the part {name!r} occurs twice")
        if name == "file":
            form.file = await self._file(headers, disposition, spool)
        elif name in self._text_fields:
            if "filename" in disposition:
                raise Breach("multipart-field", f"the text field {name!r} has a filename")
            form.fields[name] = _text(await self._until(self._mark, MAX_FIELD_BYTES), name)
        else:
            raise Breach("unknown-field", f"the part {name!r} is not in the contract")
        form.order.append(name)

    async def _file(self, headers: dict[str, str], disposition: dict[str, str], make: Callable[[], Spool]) -> FilePart:
        file_name = disposition.get("filename", "")
        if not file_name:
            raise Breach("file-name", "the part 'file' has no filename, so a server takes it for a text field")
        if any(ord(character) < 32 or ord(character) == 127 for character in file_name):
            raise Breach("file-name", "the filename has control characters")
        spool = make()
        try:
            await self._copy(spool)
        except BaseException:
            spool.close()
            spool.path.unlink(missing_ok=True)
            raise
        digest = spool.close()
        base_name = re.split(r"[/\\]", file_name)[-1]
        return FilePart(spool.path, base_name, headers.get("content-type"), spool.size, digest)

    async def _copy(self, spool: Spool) -> None:
        """Hands everything up to the next boundary to the spool, without copies of what was read."""
        keep = len(self._mark) - 1
        while True:
            found = self._buffer.find(self._mark)
            if found >= 0:
                spool.write(memoryview(self._buffer)[:found])
                self._buffer = self._buffer[found + len(self._mark) :]
                return
            if len(self._buffer) > keep:
                spool.write(memoryview(self._buffer)[:-keep])
                self._buffer = self._buffer[-keep:]
            await self._fill()

    async def _is_last(self) -> bool:
        while len(self._buffer) < 2:
            await self._fill()
        if self._buffer[:2] == b"--":
            return True
        if await self._until(b"\r\n", MAX_FIELD_BYTES):
            raise Breach("multipart", "bytes after a boundary")
        return False

    async def _until(self, mark: bytes, limit: int) -> bytes:
        """Everything before the mark, which is consumed too."""
        start = 0
        while (found := self._buffer.find(mark, start)) < 0 and len(self._buffer) <= limit:
            start = max(0, len(self._buffer) - len(mark) + 1)
            await self._fill()
        if found < 0 or found > limit:
            raise Breach("multipart", f"no end of a header or text field within {limit} bytes")
        before, self._buffer = self._buffer[:found], self._buffer[found + len(mark) :]
        return before

    async def _fill(self) -> None:
        piece = await self._read()
        if not piece:
            raise Breach("multipart", "the body ends inside the form")
        self._buffer = self._buffer + piece if self._buffer else piece


def _part_headers(block: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in _text(block, "part header").split("\r\n"):
        name, colon, value = line.partition(":")
        if not colon:
            raise Breach("multipart", f"part header {line!r}")
        headers[name.strip().lower()] = value.strip()
    return headers


def _parameters(value: str) -> dict[str, str]:
    """The parameters of a header, un-escaped as Go does it: backslashes yes, per cent no."""
    if not value.lower().startswith("form-data"):
        return {}
    return {name.lower(): re.sub(r"\\(.)", r"\1", quoted) or plain for name, quoted, plain in PARAMETER.findall(value)}


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Breach("multipart", f"{what} is not UTF-8") from None
