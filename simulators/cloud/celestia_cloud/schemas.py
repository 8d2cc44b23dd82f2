"""The schemas of the Celestia API contract (OpenAPI components), as plain JSON Schema.

Requests are checked against these by the server; the tests check the server's own answers against them.
"""

NULLABLE_STRING = {"type": ["string", "null"]}
NULLABLE_INT = {"type": ["integer", "null"]}
STRING = {"type": "string"}
INT64 = {"type": "integer"}
UUID = {"type": "string", "format": "uuid"}
TIME = {"type": "string", "format": "date-time"}
NULLABLE_TIME = {"type": ["string", "null"], "format": "date-time"}
BATTERY = {"type": ["integer", "null"], "minimum": 0, "maximum": 100}


def obj(required: str, **properties: dict) -> dict:
    """An object schema: `required` lists names separated by blanks; properties it does not name are refused."""
    return {"type": "object", "required": required.split(), "properties": properties}


def extended(base: dict, required: str, **properties: dict) -> dict:
    """`allOf` of the base and one more object."""
    return {
        "type": "object",
        "required": base["required"] + required.split(),
        "properties": {**base["properties"], **properties},
    }


# Requests

REGISTER = obj(
    "username identifier password",
    username={"type": "string", "minLength": 2},
    identifier=STRING,
    password={"type": "string", "minLength": 6},
)
LOGIN = obj("identifier password", identifier=STRING, password=STRING)
REFRESH = obj("refreshToken", refreshToken=STRING)
UPDATE_PROFILE = obj(
    "", username=NULLABLE_STRING, email=NULLABLE_STRING, phoneNumber=NULLABLE_STRING, avatarURL=NULLABLE_STRING
)
CHANGE_PASSWORD = obj("oldPassword newPassword", oldPassword=STRING, newPassword={"type": "string", "minLength": 6})
BIND_DEVICE = obj(
    "name",
    name=STRING,
    peripheralUUID=STRING,
    hardwareMAC=NULLABLE_STRING,
    firmwareVersion=NULLABLE_STRING,
    batteryLevel=BATTERY,
    freeStorageMB=NULLABLE_INT,
    totalStorageMB=NULLABLE_INT,
)
UPDATE_DEVICE = obj(
    "",
    name=NULLABLE_STRING,
    batteryLevel=BATTERY,
    isConnected={"type": ["boolean", "null"]},
    firmwareVersion=NULLABLE_STRING,
    freeStorageMB=NULLABLE_INT,
    totalStorageMB=NULLABLE_INT,
)
EVENT_UPSERT = obj(
    "clientId relativeTimeMs eventType",
    clientId=STRING,
    relativeTimeMs=INT64,
    eventType={"type": "string", "enum": ["PHOTO", "NOTE", "MARKER", "VOICE", "CONTINUATION"]},
    textContent=NULLABLE_STRING,
    voiceStartOffsetMs=NULLABLE_INT,
    voiceEndOffsetMs=NULLABLE_INT,
)
SESSION_UPSERT = obj(
    "clientId title startTime durationMs events deletedEventClientIds",
    clientId=STRING,
    title=STRING,
    startTime=TIME,
    endTime=NULLABLE_TIME,
    durationMs=INT64,
    events={"type": "array", "items": EVENT_UPSERT},
    baseRevision=NULLABLE_INT,
    deletedEventClientIds={"type": "array", "items": STRING},
)
ASSET_KIND = {"type": "string", "enum": ["AUDIO", "PHOTO"]}
UPLOAD_ASSET_FIELDS = obj("clientId kind", clientId=STRING, kind=ASSET_KIND)
CHUNK_INIT = obj(
    "clientId kind fileName mimeType fileSize chunkSize",
    clientId=STRING,
    kind=ASSET_KIND,
    fileName=STRING,
    mimeType=STRING,
    fileSize={"type": "integer", "minimum": 1},
    chunkSize={"type": "integer", "minimum": 1},
)
CHUNK_FIELDS = obj("uploadId chunkIndex", uploadId=UUID, chunkIndex={"type": "integer", "minimum": 0})
CHUNK_COMPLETE = obj("uploadId totalChunks", uploadId=UUID, totalChunks={"type": "integer", "minimum": 1})

# Answers: the `data` of the envelope

HEALTH = {"type": "string", "const": "healthy"}
EMPTY = {"type": "null"}
USER = obj(
    "id username registeredAt",
    id=UUID,
    username=STRING,
    email=STRING,
    phoneNumber=STRING,
    avatarURL={"type": "string", "format": "uri"},
    registeredAt=TIME,
    updatedAt=TIME,
)
AUTH = obj("user token refreshToken expiresAt", user=USER, token=STRING, refreshToken=STRING, expiresAt=TIME)
DEVICE = obj(
    "id name peripheralUUID",
    id=UUID,
    userId=UUID,
    name=STRING,
    peripheralUUID=STRING,
    hardwareMAC=STRING,
    batteryLevel=INT64,
    firmwareVersion=STRING,
    freeStorageMB=INT64,
    totalStorageMB=INT64,
    isConnected={"type": "boolean"},
    boundAt=TIME,
    updatedAt=TIME,
)
DELETED = obj("deletedId", deletedId=STRING)
REMOTE_EVENT = extended(EVENT_UPSERT, "id", id=UUID, clientId=NULLABLE_STRING, createdAt=TIME)
ASSET = obj(
    "id clientId kind fileName mimeType sizeBytes sha256",
    id=UUID,
    clientId=STRING,
    kind=ASSET_KIND,
    fileName=STRING,
    mimeType=STRING,
    sizeBytes=INT64,
    sha256={"type": "string", "pattern": "^[a-fA-F0-9]{64}$"},
    createdAt=TIME,
)
REMOTE_SESSION = obj(
    "id title startTime durationMs revision",
    id=UUID,
    clientId=NULLABLE_STRING,
    title=STRING,
    startTime=TIME,
    endTime=NULLABLE_TIME,
    durationMs=INT64,
    revision=INT64,
    deletedAt=NULLABLE_TIME,
    events={"type": "array", "items": REMOTE_EVENT},
    assets={"type": "array", "items": ASSET},
)
SESSION_LIST = {"type": "array", "items": REMOTE_SESSION}
CONFLICT = obj("serverRevision", serverRevision=INT64)
ASSET_UPLOAD = {"oneOf": [obj("asset sessionRevision", asset=ASSET, sessionRevision=INT64), ASSET]}
CHUNK_INIT_DATA = obj(
    "uploadId totalChunks chunkSize expiresAt", uploadId=UUID, totalChunks=INT64, chunkSize=INT64, expiresAt=TIME
)
CHUNK_PROGRESS = obj(
    "uploadId chunkIndex uploadedChunks totalChunks",
    uploadId=UUID,
    chunkIndex=INT64,
    uploadedChunks=INT64,
    totalChunks=INT64,
)
QUOTA = obj("totalBytes usedBytes remainingBytes", totalBytes=INT64, usedBytes=INT64, remainingBytes=INT64)
QUOTA_EXCEEDED = extended(QUOTA, "requiredBytes", requiredBytes=INT64)
CHECKPOINT = obj("syncedAt message", syncedAt=TIME, message=STRING)
