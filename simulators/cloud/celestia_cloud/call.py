"""One request: its body, its user, the fault that strikes it, and what the journal shall know of it."""

import json
import socket
import struct
from typing import TYPE_CHECKING

from aiohttp import ClientError, web

from .accounts import AccessToken
from .cloud import Cloud
from .faults import Plan
from .replies import Breach, Cut, Disconnected
from .schema_check import UUID_TEXT, Mismatch, check

if TYPE_CHECKING:
    from .operations import Operation

MAX_JSON_BYTES = 8 << 20
NEVER_LINGER = struct.pack("ii", 1, 0)


class Body:
    """The request's body in the pieces that the socket gives; counts them."""

    def __init__(self, request: web.Request):
        self._request = request
        self.received = 0

    async def read(self) -> bytes:
        """The next piece, b"" at the end; raises Disconnected when the client leaves before the end."""
        try:
            piece = await self._request.content.readany()
        except (ConnectionError, ClientError, web.RequestPayloadError) as error:
            raise Disconnected from error
        self.received += len(piece)
        return piece

    async def drain(self) -> None:
        while await self.read():
            pass

    async def read_all(self, limit: int) -> bytes:
        pieces = []
        while piece := await self.read():
            pieces.append(piece)
            if self.received > limit:
                raise Breach("body-size", f"a JSON body over {limit} bytes")
        return b"".join(pieces)


class Call:
    """A request on its way through an operation."""

    def __init__(self, cloud: Cloud, operation: "Operation", request: web.Request, plan: Plan):
        """connection_requests counts the requests of this connection, this one included."""
        self.cloud = cloud
        self.operation = operation
        self.request = request
        self.plan = plan
        self.body = Body(request)
        self.json: dict = {}
        self.connection_requests = 1
        self._token: AccessToken | None = None

    # The client's identity

    def authorize(self) -> None:
        """Raises ApiError 401; a request without a token, or with one never given out, is a breach."""
        header = self.request.headers.get("Authorization")
        if header is None:
            raise Breach("missing-bearer", "no Authorization header", 401)
        scheme, _, text = header.partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Breach("missing-bearer", "Authorization is not 'Bearer <token>'", 401)
        if not self.cloud.accounts.knows_access_token(text):
            raise Breach("unknown-token", "a bearer token that this server never gave out", 401)
        self._token = self.cloud.accounts.authorize(text)

    @property
    def token(self) -> AccessToken:
        if self._token is None:
            raise RuntimeError(f"{self.operation.id} is open to all")
        return self._token

    @property
    def user_id(self) -> str:
        return self.token.family.user.id

    # The request

    def path_uuid(self, name: str) -> str:
        return self.request.match_info[name]

    def check_address(self) -> None:
        """Path parameters are UUIDs, and only known query parameters are sent."""
        for name, value in self.request.match_info.items():
            if not UUID_TEXT.fullmatch(value):
                raise Breach("path-uuid", f"{name} is not a UUID")
        unknown = set(self.request.query) - set(self.operation.query)
        if unknown:
            raise Breach("unknown-query", f"query parameters not in the contract: {', '.join(sorted(unknown))}")

    async def read_json(self) -> None:
        """Reads and checks the body; raises Breach."""
        if self.request.content_type != "application/json":
            raise Breach("content-type", f"Content-Type is {self.request.content_type!r}, not application/json")
        data = await self.body.read_all(MAX_JSON_BYTES)
        try:
            value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise Breach("json", f"the body is not JSON: {error}") from None
        self.check(value)
        self.json = value

    def check(self, value: object) -> None:
        """Checks against the operation's schema; raises Breach."""
        try:
            check(value, self.operation.request)
        except Mismatch as error:
            raise Breach("schema", str(error)) from None

    # The journal

    def advise(self, rule: str, detail: str) -> None:
        self.cloud.journal.advise(self.operation.id, self.request.path, rule, detail)

    def record(self, breach: Breach) -> None:
        self.cloud.journal.violation(self.operation.id, self.request.path, breach.rule, breach.message, breach.status)

    # The connection

    def is_connected(self) -> bool:
        transport = self.request.transport
        return transport is not None and not transport.is_closing()

    def end_connection(self, resets: bool) -> None:
        """Closes the connection after what was written, or resets it; raises Cut."""
        if resets:
            self.reset_connection()
        if self.request.transport is not None:
            self.request.transport.close()
        raise Cut

    def reset_connection(self) -> None:
        """Ends the connection with a TCP reset; raises Cut."""
        transport = self.request.transport
        if transport is not None:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NEVER_LINGER)
            transport.abort()
        raise Cut


def _unique(pairs: list[tuple[str, object]]) -> dict:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
