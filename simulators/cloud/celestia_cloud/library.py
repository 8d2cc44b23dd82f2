"""What a user keeps in the cloud: devices, sessions with events and assets, unfinished uploads."""

import asyncio
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from .replies import ApiError
from .variety import Clock


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass
class Device:
    """A bound recorder; `fields` are the optional members of the contract's Device."""

    user_id: str
    name: str
    peripheral_uuid: str
    bound_at: datetime
    updated_at: datetime
    fields: dict = field(default_factory=dict)
    id: str = field(default_factory=new_id)


@dataclass
class Asset:
    """A stored file. `reported_sha256` differs from `sha256` only where a fault says so."""

    client_id: str
    kind: str
    file_name: str
    mime_type: str
    size: int
    sha256: str
    reported_sha256: str
    created_at: datetime
    id: str = field(default_factory=new_id)


@dataclass
class Event:
    """A marker, note or photo within a session."""

    values: dict
    created_at: datetime
    id: str = field(default_factory=new_id)


@dataclass
class Session:
    """A capture in the cloud. `values` are the scalar members of the upsert, as sent."""

    user_id: str
    client_id: str
    values: dict
    revision: int = 1
    deleted_at: datetime | None = None
    events: dict[str, Event] = field(default_factory=dict)
    assets: dict[str, Asset] = field(default_factory=dict)
    id: str = field(default_factory=new_id)

    def asset_called(self, client_id: str) -> Asset | None:
        return self.assets.get(client_id)


@dataclass
class Upload:
    """A chunked upload; each chunk that arrived whole is a file of its own in `folder`."""

    session: Session
    client_id: str
    kind: str
    file_name: str
    mime_type: str
    file_size: int
    chunk_size: int
    expires_at: datetime
    folder: Path
    received: set[int] = field(default_factory=set)
    is_complete: bool = False
    merging: asyncio.Lock = field(default_factory=asyncio.Lock)
    id: str = field(default_factory=new_id)

    def __getstate__(self) -> dict:
        # A lock belongs to the process that has it.
        return self.__dict__ | {"merging": asyncio.Lock()}

    @property
    def total_chunks(self) -> int:
        return -(-self.file_size // self.chunk_size)

    def size_of_chunk(self, index: int) -> int:
        return min(self.chunk_size, self.file_size - index * self.chunk_size)

    def path_of_chunk(self, index: int) -> Path:
        return self.folder / str(index)


class Library:
    """All of it, for all users; lookups raise ApiError as the contract says."""

    def __init__(self, clock: Clock, total_bytes: int, upload_lifetime: float):
        self.total_bytes = total_bytes
        self.other_bytes = 0
        self.upload_lifetime = upload_lifetime
        self.devices: dict[str, Device] = {}
        self.sessions: dict[str, Session] = {}
        self.uploads: dict[str, Upload] = {}
        self._clock = clock

    def device(self, user_id: str, device_id: str) -> Device:
        device = self.devices.get(device_id.lower())
        if device is None or device.user_id != user_id:
            raise ApiError(404, "no such device")
        return device

    def device_with_peripheral(self, user_id: str, peripheral_uuid: str) -> Device | None:
        for device in self.devices.values():
            if device.user_id == user_id and device.peripheral_uuid == peripheral_uuid:
                return device
        return None

    def session(self, user_id: str, session_id: str) -> Session:
        """A session that lives; 404 also for a tombstone."""
        session = self.sessions.get(session_id.lower())
        if session is None or session.user_id != user_id or session.deleted_at:
            raise ApiError(404, "no such session")
        return session

    def session_called(self, user_id: str, client_id: str) -> Session | None:
        for session in self.sessions.values():
            if session.user_id == user_id and session.client_id == client_id:
                return session
        return None

    def sessions_of(self, user_id: str) -> list[Session]:
        return [session for session in self.sessions.values() if session.user_id == user_id]

    def upload(self, session: Session, upload_id: str) -> Upload:
        """An upload of the session; 410 when it has expired."""
        upload = self.uploads.get(upload_id.lower())
        if upload is None or upload.session is not session:
            raise ApiError(404, "no such upload")
        if not upload.is_complete and upload.expires_at <= self._clock.now():
            raise ApiError(410, "the upload has expired")
        return upload

    def upload_deadline(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self.upload_lifetime)

    def expire_uploads(self) -> int:
        """Gives the number of uploads that were open."""
        now = self._clock.now()
        alive = [upload for upload in self.uploads.values() if not upload.is_complete and upload.expires_at > now]
        for upload in alive:
            upload.expires_at = now
        return len(alive)

    def quota(self, user_id: str) -> dict:
        """Finished assets count, unfinished uploads do not."""
        own = sum(asset.size for session in self.sessions_of(user_id) for asset in session.assets.values())
        used = own + self.other_bytes
        return {
            "totalBytes": self.total_bytes,
            "usedBytes": used,
            "remainingBytes": max(0, self.total_bytes - used),
        }

    def require_space(self, user_id: str, size: int) -> None:
        """Raises ApiError 413 with the contract's quota data."""
        quota = self.quota(user_id)
        if size > quota["remainingBytes"]:
            raise ApiError(413, "storage quota exceeded", quota | {"requiredBytes": size})
