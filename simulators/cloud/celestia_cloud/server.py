"""The HTTP face: routes, envelopes, and the course of one request through its fault."""

import asyncio
import json
import re
import sys
import weakref
from email.utils import format_datetime
from functools import partial

from aiohttp import web

from .call import Call
from .cloud import Cloud
from .control import Control
from .faults import Plan
from .operations import OPERATIONS, Operation
from .replies import ABSENT, ApiError, Breach, Cut, Disconnected, Reply

BASE_PATH = "/celestia-trace/v1"
REPLACING = {
    "status", "html", "not_json", "stall", "drop_before_commit", "drop_after_commit", "truncated_body", "trickle",
}  # fmt: skip
GATEWAY_HTML = "<html>\r\n<head><title>{0}</title></head>\r\n<body><center><h1>{0}</h1></center></body>\r\n</html>\r\n"
STALL_SECONDS = 600.0


class Server:
    """Serves one cloud."""

    def __init__(self, cloud: Cloud, verbose: bool = False):
        self._cloud = cloud
        self._verbose = verbose
        self._connections: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._connection_count = 0
        self._stopping = asyncio.Event()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=8 << 20)
        for operation in OPERATIONS:
            app.router.add_route(operation.method, BASE_PATH + operation.path, partial(self._dispatch, operation))
        Control(self._cloud).add_routes(app)
        app.router.add_route(UNKNOWN.method, UNKNOWN.path, partial(self._dispatch, UNKNOWN))
        return app

    def stop(self) -> None:
        """Ends what stalls on purpose."""
        self._stopping.set()

    async def _dispatch(self, operation: Operation, request: web.Request) -> web.StreamResponse:
        plan = self._cloud.faults.plan(operation.id, request.content_length or 0)
        call = Call(self._cloud, operation, request, plan)
        connection, call.connection_requests = self._count_connection(request)
        outcome: int | str = "crashed"
        try:
            response = await self._exchange(call)
            outcome = response.status if call.is_connected() else "disconnected"
            return response
        except Cut:
            outcome = "cut"
            return web.Response()
        except (Disconnected, ConnectionError):
            outcome = "disconnected"
            return web.Response()
        except asyncio.CancelledError:
            outcome = "disconnected"
            raise
        finally:
            self._record(call, connection, outcome)

    async def _exchange(self, call: Call) -> web.StreamResponse:
        plan = call.plan
        if plan.delay_before:
            await asyncio.sleep(plan.delay_before)
        if plan.has("reset_at"):
            await _reset_after(call, plan.options["bytes"])
        if plan.has("expire_token"):
            self._cloud.accounts.expire_access_tokens(plan.options.get("used", 0))
        if plan.action in REPLACING and not plan.commits:
            if not plan.options.get("early"):
                await call.body.drain()
            return await self._strike(call, Reply())
        reply = await self._perform(call)
        self._cloud.keep()
        if plan.delay_after:
            await asyncio.sleep(plan.delay_after)
        if plan.action in REPLACING:
            return await self._strike(call, reply)
        return self._response(reply)

    async def _perform(self, call: Call) -> Reply:
        """The operation itself; what goes wrong becomes an error envelope."""
        operation = call.operation
        try:
            if operation is UNKNOWN:
                return await operation.handler(call)
            if not operation.is_open:
                call.authorize()
            call.check_address()
            if operation.takes_json:
                await call.read_json()
            elif not operation.is_form and await call.body.read():
                await call.body.drain()
                call.advise("needless-body", "a body on an operation that takes none")
            return await operation.handler(call)
        except Breach as breach:
            call.record(breach)
            await call.body.drain()
            return Reply(breach.data, breach.status, breach.message)
        except ApiError as error:
            return Reply(error.data, error.status, error.message)

    # Answers

    def _response(self, reply: Reply) -> web.StreamResponse:
        headers = {"Date": format_datetime(self._cloud.clock.now(), usegmt=True)} | reply.headers
        if reply.file:
            return web.FileResponse(reply.file, headers=headers | {"Content-Type": "application/octet-stream"})
        code = self._cloud.options.success_code if reply.status == 200 else reply.status
        return self._envelope(reply.status, code, reply.message, reply.data, headers)

    def _envelope(self, status: int, code: int, message: str, data: object, headers: dict) -> web.Response:
        values = {"code": code, "message": message}
        if data is not ABSENT:
            values["data"] = data
        body = json.dumps(values, ensure_ascii=False).encode()
        return web.Response(status=status, body=body, headers={"Content-Type": "application/json"} | headers)

    # Faults

    async def _strike(self, call: Call, reply: Reply) -> web.StreamResponse:
        """The answer, or the silence, that a fault wants in place of the reply."""
        action, options = call.plan.action, call.plan.options
        if action == "stall":
            await self._stall(call, options.get("ms", STALL_SECONDS * 1000) / 1000)
        if action in ("stall", "drop_before_commit", "drop_after_commit"):
            call.end_connection(options.get("reset", False))
        if action in ("truncated_body", "trickle"):
            return await self._send_slowly(call, reply)
        return self._fake(call.plan)

    def _fake(self, plan: Plan) -> web.Response:
        options = plan.options
        headers = {"Date": format_datetime(self._cloud.clock.now(), usegmt=True)} | options.get("headers", {})
        if plan.action == "html":
            status = options.get("status", 502)
            reason = web.Response(status=status).reason
            return _raw(status, GATEWAY_HTML.format(f"{status} {reason}"), "text/html", headers)
        if plan.action == "not_json":
            return _raw(options.get("status", 200), '{"code": 0, "message": ', "application/json", headers)
        status = options["status"]
        if "body" in options:
            return _raw(status, options["body"], "text/plain", headers)
        message = options.get("message", f"fault {status}")
        return self._envelope(status, options.get("code", status), message, options.get("data", ABSENT), headers)

    async def _send_slowly(self, call: Call, reply: Reply) -> web.StreamResponse:
        """Truncated: a full Content-Length, fewer bytes, then the end. Trickle: byte by byte."""
        whole = self._response(reply)
        body = reply.file.read_bytes() if reply.file else whole.body
        response = web.StreamResponse(status=whole.status, headers=whole.headers)
        response.content_length = len(body)
        await response.prepare(call.request)
        if call.plan.has("truncated_body"):
            await response.write(body[: call.plan.options.get("bytes", len(body) // 2)])
            call.end_connection(call.plan.options.get("reset", False))
        for index in range(len(body)):
            await response.write(body[index : index + 1])
            await asyncio.sleep(call.plan.options.get("ms", 1) / 1000)
        await response.write_eof()
        return response

    async def _stall(self, call: Call, seconds: float) -> None:
        """Silence until the client has had enough, the time is over, or the server stops."""
        deadline = asyncio.get_running_loop().time() + seconds
        while call.is_connected() and asyncio.get_running_loop().time() < deadline:
            try:
                await asyncio.wait_for(self._stopping.wait(), 0.02)
                return
            except asyncio.TimeoutError:
                continue

    # The journal

    def _count_connection(self, request: web.Request) -> tuple[int, int]:
        """The number of the connection, and how many requests it has carried."""
        if request.transport not in self._connections:
            self._connection_count += 1
            self._connections[request.transport] = [self._connection_count, 0]
        entry = self._connections[request.transport]
        entry[1] += 1
        return entry[0], entry[1]

    def _record(self, call: Call, connection: int, outcome: int | str) -> None:
        request = call.request
        entry = {
            "operation": call.operation.id,
            "method": request.method,
            "path": request.path,
            "connection": connection,
            "outcome": outcome,
            "bodyBytes": call.body.received,
            "fault": "+".join(call.plan.names()) or None,
        }
        self._cloud.journal.record_request(entry)
        if self._verbose:
            fault = f" fault {entry['fault']}" if entry["fault"] else ""
            print(f"{outcome} {request.method} {request.path} {call.body.received} bytes{fault}", file=sys.stderr)


async def _refuse_unknown(call: Call) -> Reply:
    """No operation of the contract: a wrong method is told from a wrong path."""
    path = call.request.path
    for operation in OPERATIONS:
        pattern = BASE_PATH + re.sub(r"\{\w+\}", "[^/]+", operation.path)
        if re.fullmatch(pattern, path):
            raise Breach("method", f"{call.request.method} is not a method of {path}", 405)
    raise Breach("unknown-path", f"{path} is not in the contract", 404)


UNKNOWN = Operation("unknown", "*", "/{tail:.*}", _refuse_unknown, {})


async def _reset_after(call: Call, wanted: int) -> None:
    """Reads so many bytes of the body, or all when it is shorter, and resets the connection."""
    while call.body.received < wanted and await call.body.read():
        pass
    call.reset_connection()


def _raw(status: int, body: str, content_type: str, headers: dict) -> web.Response:
    return web.Response(status=status, body=body.encode(), headers={"Content-Type": content_type} | headers)
