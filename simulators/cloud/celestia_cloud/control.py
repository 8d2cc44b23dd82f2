"""The control plane under /_sim/: what tests and people read and set. Not a part of the API."""

import json
import re
from collections.abc import Awaitable, Callable

from aiohttp import web

from .cloud import Cloud
from .faults import BadFault, parse_faults, parse_random
from .library import Session, Upload
from .operations import ROUTES

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    """Answers plain JSON; errors are `{"error": text}` with status 400 or 404."""

    def __init__(self, cloud: Cloud):
        self._cloud = cloud

    def add_routes(self, app: web.Application) -> None:
        for method, path, handler in [
            ("GET", "state", self._state),
            ("GET", "requests", self._requests),
            ("GET", "violations", self._violations),
            ("GET", "faults", self._get_faults),
            ("POST", "faults", self._add_faults),
            ("DELETE", "faults", self._clear_faults),
            ("POST", "faults/random", self._random_faults),
            ("POST", "expire-tokens", self._expire_tokens),
            ("POST", "expire-uploads", self._expire_uploads),
            ("POST", "quota", self._set_quota),
            ("POST", "clock", self._set_clock),
            ("POST", "tombstone", self._tombstone),
            ("GET", "assets/{sha256}", self._asset),
            ("POST", "reset", self._reset),
        ]:
            app.router.add_route(method, "/_sim/" + path, _guarded(handler))
        app.router.add_route("*", "/_sim/{tail:.*}", self._unknown)

    async def _unknown(self, request: web.Request) -> web.Response:
        return _error(404, f"{request.method} {request.path} is not in the control plane")

    # Reading

    async def _state(self, request: web.Request) -> web.Response:
        cloud = self._cloud
        uploads = cloud.library.uploads.values()
        return web.json_response(
            {
                "now": cloud.clock.now().isoformat(),
                "quota": {"totalBytes": cloud.library.total_bytes, "otherUsedBytes": cloud.library.other_bytes},
                "users": [self._user(user) for user in cloud.accounts.users],
                "devices": [
                    {"id": d.id, "userId": d.user_id, "name": d.name, "peripheralUUID": d.peripheral_uuid} | d.fields
                    for d in cloud.library.devices.values()
                ],
                "sessions": [_session(session) for session in cloud.library.sessions.values()],
                "uploads": [self._upload(upload) for upload in uploads],
                "requests": {name: counts.as_json() for name, counts in cloud.journal.counts.items()},
                "violations": len(cloud.journal.violations),
                "advice": len(cloud.journal.advice),
            }
        )

    async def _requests(self, request: web.Request) -> web.Response:
        return web.json_response({"requests": list(self._cloud.journal.requests)})

    async def _violations(self, request: web.Request) -> web.Response:
        journal = self._cloud.journal
        return web.json_response({"violations": list(journal.violations), "advice": list(journal.advice)})

    async def _get_faults(self, request: web.Request) -> web.Response:
        return web.json_response(self._cloud.faults.as_json())

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        digest = request.match_info["sha256"].lower()
        path = self._cloud.folder.assets / digest
        if not re.fullmatch("[0-9a-f]{64}", digest) or not path.exists():
            return _error(404, "no asset has this SHA-256")
        return web.FileResponse(path, headers={"Content-Type": "application/octet-stream"})

    # Setting

    async def _add_faults(self, request: web.Request) -> web.Response:
        self._cloud.faults.installed += parse_faults(await _json(request), ROUTES)
        return web.json_response(self._cloud.faults.as_json())

    async def _random_faults(self, request: web.Request) -> web.Response:
        self._cloud.faults.random = parse_random(await _json(request), ROUTES)
        return web.json_response(self._cloud.faults.as_json())

    async def _clear_faults(self, request: web.Request) -> web.Response:
        fired = self._cloud.faults.as_json()
        self._cloud.faults.clear()
        return web.json_response(fired)

    async def _expire_tokens(self, request: web.Request) -> web.Response:
        body = await _json(request, {"refresh": bool})
        accounts = self._cloud.accounts
        expired = accounts.expire_access_tokens()
        spent = accounts.spend_refresh_tokens() if body.get("refresh") else 0
        return web.json_response({"accessTokens": expired, "refreshTokens": spent})

    async def _expire_uploads(self, request: web.Request) -> web.Response:
        return web.json_response({"uploads": self._cloud.library.expire_uploads()})

    async def _set_quota(self, request: web.Request) -> web.Response:
        body = await _json(request, {"totalBytes": int, "otherUsedBytes": int})
        library = self._cloud.library
        library.total_bytes = body.get("totalBytes", library.total_bytes)
        library.other_bytes = body.get("otherUsedBytes", library.other_bytes)
        return web.json_response({"totalBytes": library.total_bytes, "otherUsedBytes": library.other_bytes})

    async def _set_clock(self, request: web.Request) -> web.Response:
        self._cloud.clock.skew = (await _json(request, {"skewSeconds": (int, float)})).get("skewSeconds", 0)
        return web.json_response({"skewSeconds": self._cloud.clock.skew})

    async def _tombstone(self, request: web.Request) -> web.Response:
        body = await _json(request, {"sessionId": str, "clientId": str})
        for session in self._cloud.library.sessions.values():
            if session.id == body.get("sessionId") or session.client_id == body.get("clientId"):
                session.deleted_at = self._cloud.clock.now()
                session.revision += 1
                return web.json_response(_session(session))
        return _error(404, "no such session")

    async def _reset(self, request: web.Request) -> web.Response:
        self._cloud.reset()
        return web.json_response({})

    def _user(self, user) -> dict:
        return {
            "id": user.id,
            "username": user.username,
            "email": user.email,
            "phoneNumber": user.phone_number,
            "tokens": {
                "generation": user.generation,
                "usedGeneration": user.used_generation,
                "logins": user.logins,
                "refreshes": user.refreshes,
            },
            "checkpoints": len(user.checkpoints),
            "usedBytes": self._cloud.library.quota(user.id)["usedBytes"] - self._cloud.library.other_bytes,
        }

    def _upload(self, upload: Upload) -> dict:
        expired = upload.expires_at <= self._cloud.clock.now()
        return {
            "id": upload.id,
            "sessionId": upload.session.id,
            "clientId": upload.client_id,
            "fileSize": upload.file_size,
            "chunkSize": upload.chunk_size,
            "totalChunks": upload.total_chunks,
            "receivedChunks": sorted(upload.received),
            "state": "complete" if upload.is_complete else "expired" if expired else "open",
        }


def _session(session: Session) -> dict:
    return {
        "id": session.id,
        "userId": session.user_id,
        "clientId": session.client_id,
        "revision": session.revision,
        "deletedAt": session.deleted_at.isoformat() if session.deleted_at else None,
        **session.values,
        "events": [event.values | {"id": event.id} for event in session.events.values()],
        "assets": [
            {
                "id": asset.id,
                "clientId": asset.client_id,
                "kind": asset.kind,
                "fileName": asset.file_name,
                "mimeType": asset.mime_type,
                "size": asset.size,
                "sha256": asset.sha256,
            }
            for asset in session.assets.values()
        ],
    }


async def _json(request: web.Request, members: dict | None = None):
    """The body, {} when empty; with `members`, an object of these names and types."""
    text = await request.text()
    try:
        value = json.loads(text) if text else {}
    except ValueError as error:
        raise BadFault(f"the body is not JSON: {error}") from None
    if members is None:
        return value
    if not isinstance(value, dict) or value.keys() - members.keys():
        raise BadFault(f"an object with {', '.join(members)} is wanted")
    for name, item in value.items():
        if not isinstance(item, members[name]):
            raise BadFault(f"{name} has the wrong type")
    return value


def _guarded(handler: Handler) -> Handler:
    async def guarded(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except BadFault as error:
            return _error(400, str(error))

    return guarded


def _error(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)
