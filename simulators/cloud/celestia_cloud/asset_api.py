"""Files: the small route, the chunked route, and the download."""

import asyncio
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .call import Call
from .library import Asset, Session, Upload
from .library_api import asset_json
from .multipart import FilePart, Form, FormReader, Spool
from .replies import ApiError, Breach, Reply

SMALL_LIMIT = 16 << 20
CHUNK_LIMIT = 256 << 20
MAX_CHUNKS = 1 << 20
MERGE_PIECE = 1 << 20


async def upload_asset(call: Call) -> Reply:
    """A file smaller than 16 MiB in one form."""
    session = _session(call)
    form = await _read_form(call, SMALL_LIMIT - 1, hashed=True)
    file = _file(form)
    try:
        if file.size >= SMALL_LIMIT:
            raise Breach("small-route-size", f"{file.size} bytes on the route for files smaller than {SMALL_LIMIT}")
        call.check(form.fields)
        return _store_small(call, session, form.fields, file)
    finally:
        file.path.unlink(missing_ok=True)


async def initialize_chunked_upload(call: Call) -> Reply:
    """A new upload each time, also for a clientId whose asset exists: completing that gives the existing asset."""
    session, body, library = _session(call), call.json, call.cloud.library
    chunk_size = min(body["chunkSize"], call.cloud.options.chunk_size)
    if call.plan.has("chunk_size"):
        chunk_size = call.plan.options.get("bytes") or max(1, chunk_size // 2)
    if chunk_size > CHUNK_LIMIT or body["fileSize"] > chunk_size * MAX_CHUNKS:
        raise ApiError(400, "chunkSize is out of the range of this server")
    if body["fileSize"] < SMALL_LIMIT:
        call.advise("chunked-route-size", f"{body['fileSize']} bytes on the route for files of at least {SMALL_LIMIT}")
    if not session.asset_called(body["clientId"]):
        library.require_space(call.user_id, body["fileSize"])
    upload = Upload(
        session, body["clientId"], body["kind"], body["fileName"], body["mimeType"], body["fileSize"],
        chunk_size, library.upload_deadline(), call.cloud.folder.uploads,
    )  # fmt: skip
    upload.folder = call.cloud.folder.uploads / upload.id
    upload.folder.mkdir()
    library.uploads[upload.id] = upload
    return Reply(
        {
            "uploadId": upload.id,
            "totalChunks": upload.total_chunks,
            "chunkSize": chunk_size,
            "expiresAt": call.cloud.variety.time(upload.expires_at),
        }
    )


async def upload_chunk(call: Call) -> Reply:
    """One chunk; sent again it replaces the one before."""
    session = _session(call)
    form = await _read_form(call, CHUNK_LIMIT, hashed=False)
    file = _file(form)
    try:
        fields: dict[str, Any] = form.fields | {"chunkIndex": _decimal(form.fields.get("chunkIndex"))}
        call.check(fields)
        upload, index = _upload(call, session, fields["uploadId"]), fields["chunkIndex"]
        if upload.is_complete:
            raise ApiError(404, "the upload is complete")
        _check_chunk(upload, index, file.size)
        file.path.replace(upload.path_of_chunk(index))
        upload.received.add(index)
    finally:
        file.path.unlink(missing_ok=True)
    counted = len(upload.received) - (1 if call.plan.has("short_count") else 0)
    return Reply(
        {
            "uploadId": upload.id,
            "chunkIndex": index,
            "uploadedChunks": counted,
            "totalChunks": upload.total_chunks,
        }
    )


async def complete_chunked_upload(call: Call) -> Reply:
    """Merges. A repetition, also of an upload that another one overtook, gives the asset alone."""
    upload = _upload(call, _session(call), call.json["uploadId"])
    if call.json["totalChunks"] != upload.total_chunks:
        raise Breach("total-chunks", f"totalChunks is {call.json['totalChunks']}, not {upload.total_chunks}")
    # A client that leaves during the merge does not undo it.
    return await asyncio.shield(_complete(call, upload))


async def download_asset(call: Call) -> Reply:
    session = _session(call)
    wanted = call.path_uuid("assetId").lower()
    for asset in session.assets.values():
        if asset.id == wanted:
            return Reply(
                file=call.cloud.folder.assets / asset.sha256,
                headers={"Content-Disposition": _disposition(asset.file_name)},
            )
    raise ApiError(404, "no such asset")


async def _complete(call: Call, upload: Upload) -> Reply:
    async with upload.merging:
        session = upload.session
        existing = session.asset_called(upload.client_id)
        if upload.is_complete and existing:
            return _replay(call, existing)
        missing = upload.total_chunks - len(upload.received)
        if missing:
            raise Breach("missing-chunks", f"{missing} of {upload.total_chunks} chunks are missing")
        merged = call.cloud.folder.spool_path()
        digest = await asyncio.to_thread(_merge, upload, merged)
        upload.is_complete = True
        # Another upload of the same clientId may have come first during the merge.
        existing = session.asset_called(upload.client_id)
        if existing:
            merged.unlink()
            _check_same_bytes(call, existing, digest)
            return _replay(call, existing)
        merged.replace(call.cloud.folder.assets / digest)
        return _create(
            call, session, upload.client_id, upload.kind, upload.file_name, upload.mime_type, upload.file_size, digest
        )


def _merge(upload: Upload, path: Path) -> str:
    """Joins the chunks into one file and gives its SHA-256; the chunks are gone then."""
    sha256 = hashlib.sha256()
    buffer = bytearray(MERGE_PIECE)
    view = memoryview(buffer)
    with open(path, "xb", buffering=0) as merged:
        for index in range(upload.total_chunks):
            with open(upload.path_of_chunk(index), "rb", buffering=0) as chunk:
                while count := chunk.readinto(buffer):
                    sha256.update(view[:count])
                    merged.write(view[:count])
            os.unlink(upload.path_of_chunk(index))
    shutil.rmtree(upload.folder, ignore_errors=True)
    return sha256.hexdigest()


def _store_small(call: Call, session: Session, fields: dict, file: FilePart) -> Reply:
    digest = file.sha256 or ""
    existing = session.asset_called(fields["clientId"])
    if existing:
        _check_same_bytes(call, existing, digest)
        return _replay(call, existing)
    if file.mime_type is None:
        call.advise("file-type", "the part 'file' has no Content-Type, the only carrier of the mimeType")
    if file.size == 0:
        call.advise("empty-file", f"asset {fields['clientId']} has no bytes")
    call.cloud.library.require_space(call.user_id, file.size)
    file.path.replace(call.cloud.folder.assets / digest)
    mime_type = file.mime_type or "application/octet-stream"
    return _create(call, session, fields["clientId"], fields["kind"], file.file_name, mime_type, file.size, digest)


def _create(
    call: Call, session: Session, client_id: str, kind: str, file_name: str, mime_type: str, size: int, digest: str
) -> Reply:
    """The asset is in the session from here on, and the session has a new revision."""
    for other in call.cloud.library.sessions_of(call.user_id):
        if other is not session and other.asset_called(client_id):
            call.advise("asset-in-two-sessions", f"asset clientId {client_id} is also in session {other.client_id}")
    reported = _wrong(digest) if call.plan.has("wrong_sha256") and call.plan.options.get("persist") else digest
    asset = Asset(client_id, kind, file_name, mime_type, size, digest, reported, call.cloud.clock.now())
    session.assets[client_id] = asset
    session.revision += 1
    return Reply({"asset": _answered(call, asset), "sessionRevision": session.revision})


def _replay(call: Call, asset: Asset) -> Reply:
    """The asset alone: a repetition does not change the session."""
    return Reply(_answered(call, asset))


def _answered(call: Call, asset: Asset) -> dict:
    values = asset_json(call, asset)
    if call.plan.has("wrong_sha256"):
        values["sha256"] = _wrong(asset.sha256)
    return values


def _wrong(digest: str) -> str:
    return ("0" if digest[0] != "0" else "1") + digest[1:]


def _session(call: Call) -> Session:
    return call.cloud.library.session(call.user_id, call.path_uuid("sessionId"))


def _upload(call: Call, session: Session, upload_id: str) -> Upload:
    if call.plan.has("expire_upload") and upload_id.lower() in call.cloud.library.uploads:
        call.cloud.library.uploads[upload_id.lower()].expires_at = call.cloud.clock.now()
    return call.cloud.library.upload(session, upload_id)


def _check_chunk(upload: Upload, index: int, size: int) -> None:
    if index >= upload.total_chunks:
        raise Breach("chunk-index", f"chunkIndex {index} of {upload.total_chunks} chunks")
    wanted = upload.size_of_chunk(index)
    if size != wanted:
        raise Breach("chunk-size", f"chunk {index} has {size} bytes, not {wanted}")


def _check_same_bytes(call: Call, existing: Asset, digest: str) -> None:
    """An idempotent replay carries the same bytes; others are lost, which the client must never cause."""
    if existing.sha256 != digest:
        call.record(Breach("asset-bytes-differ", f"asset {existing.client_id} was sent again with other bytes", 200))


async def _read_form(call: Call, limit: int, hashed: bool) -> Form:
    text_fields = list(call.operation.request["properties"])
    reader = FormReader(call.body.read, call.request.headers.get("Content-Type", ""), text_fields)
    form = await reader.form(lambda: Spool(call.cloud.folder.spool_path(), limit, hashed))
    if form.order[-1] != "file":
        call.advise("file-not-last", "a text field follows the file, so a server cannot stream it")
    return form


def _file(form: Form) -> FilePart:
    if form.file is None:
        raise RuntimeError("a form without its file")
    return form.file


def _decimal(text: str | None) -> object:
    """The number of a decimal text; other text stays for the schema to refuse."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 18 else text


def _disposition(file_name: str) -> str:
    plain = "".join(c if " " <= c <= "~" and c not in '"\\' else "_" for c in file_name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}"
