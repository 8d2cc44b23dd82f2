"""Starts the simulator as its users do, and speaks to it with nothing but the standard library."""

import http.client
import json
import os
import subprocess
import time
import unittest
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from celestia_cloud.operations import OPERATIONS
from celestia_cloud.schema_check import check

SCRIPT = Path(__file__).resolve().parent.parent / "celestia-cloud"
TIMEOUT = 20.0
SCHEMAS = {operation.id: operation.answer for operation in OPERATIONS}


@dataclass
class Answer:
    """A response, its body as bytes and, where it is JSON, as an envelope."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def envelope(self) -> dict:
        return json.loads(self.body)

    @property
    def data(self):
        return self.envelope["data"]


class Simulator:
    """A running celestia-cloud. It ends with its standard input, so it cannot outlive the test."""

    def __init__(self, *arguments: str):
        self.process = subprocess.Popen(
            [SCRIPT, "--exit-with-stdin", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        word, _, url = self.process.stdout.readline().strip().partition(" ")
        if word != "ready":
            raise RuntimeError("celestia-cloud did not start")
        parts = urlsplit(url)
        self.url, self.base, self.host, self.port = url, parts.path, parts.hostname, parts.port

    def close(self) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(TIMEOUT)
        self.process.stdout.close()
        return code

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request on a connection of its own; header names are written with underscores."""
        connection = self.connection()
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def control(self, method: str, path: str, body: object = None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        return self.send(method, "/_sim/" + path, data)


class CloudTestCase(unittest.TestCase):
    """One simulator per class, reset before each test; `self.token` belongs to the user alice."""

    arguments: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        cls.cloud = Simulator("--user", "alice:secret1", *cls.arguments)
        cls.addClassCleanup(cls.cloud.close)

    def setUp(self) -> None:
        self.assertEqual(self.cloud.control("POST", "reset").status, 200)
        self.token = ""
        tokens = self.call("login", "POST", "/auth/login", {"identifier": "alice", "password": "secret1"}).data
        self.token, self.refresh_token = tokens["token"], tokens["refreshToken"]

    # Requests

    def call(self, operation: str, method: str, path: str, body: object = None, status: int = 200) -> Answer:
        """Sends JSON with the bearer; the status must be as said, and a success must fit the contract."""
        headers = {"Authorization": "Bearer " + self.token} if self.token else {}
        if body is not None:
            headers["Content_Type"] = "application/json"
        data = None if body is None else json.dumps(body).encode()
        return self._checked(operation, self.cloud.send(method, self.cloud.base + path, data, **headers), status)

    def call_form(self, operation: str, path: str, form: bytes, boundary: str = "XX", status: int = 200) -> Answer:
        answer = self.cloud.send(
            "POST",
            self.cloud.base + path,
            form,
            Authorization="Bearer " + self.token,
            Content_Type=f"multipart/form-data; boundary={boundary}",
        )
        return self._checked(operation, answer, status)

    def _checked(self, operation: str, answer: Answer, status: int) -> Answer:
        self.assertEqual(answer.status, status, answer.body)
        if status == 200:
            envelope = answer.envelope
            self.assertEqual(envelope["code"], 0)
            check(envelope.get("data"), SCHEMAS[operation], operation)
        return answer

    # Steps of the flow

    def session_body(self, **changes: object) -> dict:
        return {
            "clientId": str(uuid.uuid4()),
            "title": "Ein Interview",
            "startTime": "2026-11-30T08:15:00.250Z",
            "durationMs": 61000,
            "events": [],
            "deletedEventClientIds": [],
        } | changes

    def new_session(self, **changes: object) -> dict:
        return self.call("upsertSession", "POST", "/sessions", self.session_body(**changes)).data

    def upload_small(
        self, session: dict, client_id: str, data: bytes, kind: str = "AUDIO", status: int = 200
    ) -> Answer:
        fields = {"clientId": client_id, "kind": kind}
        return self.call_form("uploadAsset", f"/sessions/{session['id']}/assets", form(fields, data), status=status)

    def start_upload(self, session: dict, size: int, chunk_size: int, client_id: str = "a1") -> dict:
        body = {
            "clientId": client_id,
            "kind": "AUDIO",
            "fileName": "long.wav",
            "mimeType": "audio/wav",
            "fileSize": size,
            "chunkSize": chunk_size,
        }
        return self.call("initializeChunkedUpload", "POST", f"/sessions/{session['id']}/assets/init", body).data

    def send_chunk(self, session: dict, upload: dict, index: int, data: bytes, status: int = 200) -> Answer:
        fields = {"uploadId": upload["uploadId"], "chunkIndex": str(index)}
        path = f"/sessions/{session['id']}/assets/chunk"
        return self.call_form("uploadChunk", path, form(fields, data), status=status)

    def complete(self, session: dict, upload: dict, status: int = 200) -> Answer:
        body = {"uploadId": upload["uploadId"], "totalChunks": upload["totalChunks"]}
        path = f"/sessions/{session['id']}/assets/complete"
        return self.call("completeChunkedUpload", "POST", path, body, status=status)

    # The control plane

    def fault(self, **values: object) -> None:
        answer = self.cloud.control("POST", "faults", [values])
        self.assertEqual(answer.status, 200, answer.body)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not holds():
            self.assertLess(time.monotonic(), deadline, "nothing happened")
            time.sleep(0.005)

    def state(self) -> dict:
        return self.cloud.control("GET", "state").envelope

    def rules(self, kind: str = "violations") -> list[str]:
        return [finding["rule"] for finding in self.cloud.control("GET", "violations").envelope[kind]]


def form(fields: dict[str, str], data: bytes, name: str = "take 1.wav", mime_type: str = "audio/wav") -> bytes:
    """A form with the file last, boundary XX."""
    parts = [
        f'--XX\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()
    ]
    head = (
        f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {mime_type}\r\n\r\n'
    )
    return "".join(parts).encode() + head.encode() + data + b"\r\n--XX--\r\n"


def random_bytes(count: int) -> bytes:
    return os.urandom(count)
