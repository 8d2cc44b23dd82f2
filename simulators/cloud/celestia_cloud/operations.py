"""The operations of the contract: one row each."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from . import account_api, asset_api, library_api, schemas
from .call import Call
from .replies import Reply


@dataclass(frozen=True)
class Operation:
    """An operationId of the contract. `request` is the schema of the JSON body or of the form's text fields."""

    id: str
    method: str
    path: str
    handler: Callable[[Call], Awaitable[Reply]]
    answer: dict
    request: dict = field(default_factory=dict)
    is_form: bool = False
    is_open: bool = False
    query: tuple[str, ...] = ()

    @property
    def takes_json(self) -> bool:
        return bool(self.request) and not self.is_form


_DEVICE = "/devices/{deviceId}"
_ASSETS = "/sessions/{sessionId}/assets"

OPERATIONS = [
    Operation("getHealth", "GET", "/health", account_api.get_health, schemas.HEALTH, is_open=True),
    Operation(
        "register", "POST", "/auth/register", account_api.register, schemas.AUTH, schemas.REGISTER, is_open=True
    ),
    Operation("login", "POST", "/auth/login", account_api.login, schemas.AUTH, schemas.LOGIN, is_open=True),
    Operation(
        "refreshAccessToken", "POST", "/auth/refresh", account_api.refresh_access_token, schemas.AUTH,
        schemas.REFRESH, is_open=True,
    ),
    Operation("logout", "POST", "/auth/logout", account_api.logout, schemas.EMPTY),
    Operation("getProfile", "GET", "/user/profile", account_api.get_profile, schemas.USER),
    Operation(
        "updateProfile", "PUT", "/user/profile", account_api.update_profile, schemas.USER, schemas.UPDATE_PROFILE
    ),
    Operation(
        "changePassword", "POST", "/user/change-password", account_api.change_password, schemas.EMPTY,
        schemas.CHANGE_PASSWORD,
    ),
    Operation("bindDevice", "POST", "/devices", library_api.bind_device, schemas.DEVICE, schemas.BIND_DEVICE),
    Operation("updateDevice", "PUT", _DEVICE, library_api.update_device, schemas.DEVICE, schemas.UPDATE_DEVICE),
    Operation("unbindDevice", "DELETE", _DEVICE, library_api.unbind_device, schemas.DELETED),
    Operation(
        "listSessions", "GET", "/sessions", library_api.list_sessions, schemas.SESSION_LIST,
        query=("includeDeleted",),
    ),
    Operation(
        "upsertSession", "POST", "/sessions", library_api.upsert_session, schemas.REMOTE_SESSION,
        schemas.SESSION_UPSERT,
    ),
    Operation(
        "uploadAsset", "POST", _ASSETS, asset_api.upload_asset, schemas.ASSET_UPLOAD, schemas.UPLOAD_ASSET_FIELDS,
        is_form=True,
    ),
    Operation(
        "initializeChunkedUpload", "POST", _ASSETS + "/init", asset_api.initialize_chunked_upload,
        schemas.CHUNK_INIT_DATA, schemas.CHUNK_INIT,
    ),
    Operation(
        "uploadChunk", "POST", _ASSETS + "/chunk", asset_api.upload_chunk, schemas.CHUNK_PROGRESS,
        schemas.CHUNK_FIELDS, is_form=True,
    ),
    Operation(
        "completeChunkedUpload", "POST", _ASSETS + "/complete", asset_api.complete_chunked_upload,
        schemas.ASSET_UPLOAD, schemas.CHUNK_COMPLETE,
    ),
    Operation("downloadAsset", "GET", _ASSETS + "/{assetId}", asset_api.download_asset, {"type": "string"}),
    Operation("getStorageQuota", "GET", "/storage/quota", library_api.get_storage_quota, schemas.QUOTA),
    Operation("recordSyncCheckpoint", "POST", "/sync/trigger", library_api.record_sync_checkpoint, schemas.CHECKPOINT),
]  # fmt: skip

ROUTES = {operation.id for operation in OPERATIONS}
