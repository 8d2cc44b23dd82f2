"""Devices, sessions, quota and the sync checkpoint."""

from datetime import datetime

from .call import Call
from .library import Asset, Device, Event, Session, new_id
from .replies import ApiError, Breach, Reply
from .schema_check import parse_rfc3339

DEVICE_FIELDS = ("hardwareMAC", "batteryLevel", "firmwareVersion", "freeStorageMB", "totalStorageMB", "isConnected")
SESSION_FIELDS = ("title", "startTime", "endTime", "durationMs")
EVENT_NULLABLE = ("textContent", "voiceStartOffsetMs", "voiceEndOffsetMs")


async def bind_device(call: Call) -> Reply:
    """Binds, or updates the user's device of the same peripheralUUID."""
    library, now = call.cloud.library, call.cloud.clock.now()
    peripheral = call.json.get("peripheralUUID")
    if peripheral is None:
        call.advise("no-peripheral-uuid", "a device without peripheralUUID is a new device at every bind")
    device = library.device_with_peripheral(call.user_id, peripheral) if peripheral is not None else None
    if device is None:
        device = Device(call.user_id, call.json["name"], peripheral or new_id(), now, now)
        library.devices[device.id] = device
    _update_device(device, call.json, now)
    return Reply(_device_json(call, device))


async def update_device(call: Call) -> Reply:
    device = call.cloud.library.device(call.user_id, call.path_uuid("deviceId"))
    _update_device(device, call.json, call.cloud.clock.now())
    return Reply(_device_json(call, device))


async def unbind_device(call: Call) -> Reply:
    device = call.cloud.library.device(call.user_id, call.path_uuid("deviceId"))
    del call.cloud.library.devices[device.id]
    return Reply({"deletedId": device.id})


async def list_sessions(call: Call) -> Reply:
    shown = call.request.query.get("includeDeleted", "true")
    if shown not in ("true", "false"):
        raise Breach("schema", f"includeDeleted is {shown!r}, not true or false")
    sessions = call.cloud.library.sessions_of(call.user_id)
    return Reply([session_json(call, item) for item in sessions if shown == "true" or not item.deleted_at])


async def upsert_session(call: Call) -> Reply:
    library, body = call.cloud.library, call.json
    _advise_session(call)
    session = library.session_called(call.user_id, body["clientId"])
    if session is None:
        if body.get("baseRevision") is not None:
            call.advise("base-of-new-session", "baseRevision for a session that does not exist")
        session = Session(call.user_id, body["clientId"], {})
        library.sessions[session.id] = session
    else:
        _require_base(call, session)
        session.revision += 1
    session.values = {name: body.get(name) for name in SESSION_FIELDS}
    for values in body["events"]:
        known = session.events.get(values["clientId"])
        if known:
            known.values = values
        else:
            session.events[values["clientId"]] = Event(values, call.cloud.clock.now())
    for client_id in body["deletedEventClientIds"]:
        session.events.pop(client_id, None)
    return Reply(session_json(call, session))


async def get_storage_quota(call: Call) -> Reply:
    return Reply(call.cloud.library.quota(call.user_id))


async def record_sync_checkpoint(call: Call) -> Reply:
    now = call.cloud.clock.now()
    call.token.family.user.checkpoints.append(now)
    return Reply({"syncedAt": call.cloud.variety.time(now), "message": "checkpoint recorded"})


def session_json(call: Call, session: Session) -> dict:
    """RemoteSession; the times of the client come back as the server would spell them."""
    variety = call.cloud.variety
    end = session.values["endTime"]
    values = {
        "id": session.id,
        "clientId": session.client_id,
        "title": session.values["title"],
        "startTime": variety.time(parse_rfc3339(session.values["startTime"])),
        "durationMs": session.values["durationMs"],
        "revision": session.revision,
        "events": [_event_json(call, event) for event in session.events.values()],
        "assets": [asset_json(call, asset) for asset in session.assets.values()],
    }
    variety.null_or_absent(values, "endTime", end and variety.time(parse_rfc3339(end)))
    variety.null_or_absent(values, "deletedAt", session.deleted_at and variety.time(session.deleted_at))
    return values


def asset_json(call: Call, asset: Asset) -> dict:
    return {
        "id": asset.id,
        "clientId": asset.client_id,
        "kind": asset.kind,
        "fileName": asset.file_name,
        "mimeType": asset.mime_type,
        "sizeBytes": asset.size,
        "sha256": call.cloud.variety.hex(asset.reported_sha256),
        "createdAt": call.cloud.variety.time(asset.created_at),
    }


def _event_json(call: Call, event: Event) -> dict:
    values = {name: event.values[name] for name in ("clientId", "relativeTimeMs", "eventType")}
    for name in EVENT_NULLABLE:
        call.cloud.variety.null_or_absent(values, name, event.values.get(name))
    return values | {"id": event.id, "createdAt": call.cloud.variety.time(event.created_at)}


def _device_json(call: Call, device: Device) -> dict:
    return {
        "id": device.id,
        "userId": device.user_id,
        "name": device.name,
        "peripheralUUID": device.peripheral_uuid,
        "boundAt": call.cloud.variety.time(device.bound_at),
        "updatedAt": call.cloud.variety.time(device.updated_at),
    } | device.fields


def _update_device(device: Device, changes: dict, now: datetime) -> None:
    """An absent member stays, null clears what can be absent."""
    device.name = changes.get("name") or device.name
    device.updated_at = now
    for name in DEVICE_FIELDS:
        if name in changes:
            device.fields[name] = changes[name]
    device.fields = {name: value for name, value in device.fields.items() if value is not None}


def _require_base(call: Call, session: Session) -> None:
    """Raises ApiError 409. A tombstone is never written to, whatever the base."""
    if session.deleted_at:
        call.advise("upsert-on-tombstone", f"session {session.client_id} was deleted in the cloud")
    elif call.json.get("baseRevision") == session.revision:
        return
    raise ApiError(409, "the session has another revision", {"serverRevision": session.revision})


def _advise_session(call: Call) -> None:
    body = call.json
    if body["durationMs"] < 0:
        call.advise("negative-duration", f"durationMs is {body['durationMs']}")
    end = body.get("endTime")
    if end and parse_rfc3339(end) < parse_rfc3339(body["startTime"]):
        call.advise("end-before-start", f"endTime {end} is before startTime {body['startTime']}")
    names = [event["clientId"] for event in body["events"]]
    if len(set(names)) != len(names):
        call.advise("event-twice", "two events of one upsert have the same clientId")
    if set(names) & set(body["deletedEventClientIds"]):
        call.advise("event-kept-and-deleted", "an event is in events and in deletedEventClientIds")
