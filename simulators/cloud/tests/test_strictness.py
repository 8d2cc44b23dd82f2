"""What breaks the contract is refused and recorded."""

import http.client
import json
import uuid

from .harness import CloudTestCase, form

NOWHERE = str(uuid.uuid4())
EVENT = {"clientId": "e1", "relativeTimeMs": 12, "eventType": "NOTE"}


class JSONTests(CloudTestCase):
    def test_bad_session_bodies(self) -> None:
        whole = self.session_body()
        cases = [
            ("a member is missing", {key: value for key, value in whole.items() if key != "events"}),
            ("null where an array must be", whole | {"deletedEventClientIds": None}),
            ("a bool for an integer", whole | {"durationMs": True}),
            ("a float for an integer", whole | {"durationMs": 1.0}),
            ("over 64 bits", whole | {"durationMs": 2**63}),
            ("text for an integer", whole | {"baseRevision": "1"}),
            ("an unknown member", whole | {"color": "red"}),
            ("not RFC 3339", whole | {"startTime": "2026-11-30 08:15"}),
            ("no such day", whole | {"startTime": "2026-02-30T08:15:00Z"}),
            ("a time without a zone", whole | {"endTime": "2026-11-30T08:15:00"}),
            ("an unknown event type", whole | {"events": [EVENT | {"eventType": "VIDEO"}]}),
            ("an event without time", whole | {"events": [{"clientId": "e", "eventType": "NOTE"}]}),
            ("an unknown member of an event", whole | {"events": [EVENT | {"x": 1}]}),
            ("not an object", [whole]),
        ]
        for what, body in cases:
            with self.subTest(what):
                answer = self.call("upsertSession", "POST", "/sessions", body, status=400)
                self.assertEqual(answer.envelope["code"], 400)
        self.assertEqual(self.rules(), ["schema"] * len(cases))
        self.assertEqual(self.state()["sessions"], [])

    def test_bytes_that_are_not_the_json_of_the_contract(self) -> None:
        cases = [
            (b"{", "application/json", "json"),
            (b'{"name": NaN}', "application/json", "json"),
            (b'{"name": "a", "name": "b"}', "application/json", "json"),
            (b'{"name": "\xff"}', "application/json", "json"),
            (b'{"name": "a"}', "text/plain", "content-type"),
        ]
        for body, content_type, _ in cases:
            answer = self.cloud.send(
                "POST", self.cloud.base + "/devices", body,
                Authorization="Bearer " + self.token, Content_Type=content_type,
            )  # fmt: skip
            self.assertEqual(answer.status, 400, body)
        self.assertEqual(self.rules(), [rule for _, _, rule in cases])

    def test_bounds_of_other_bodies(self) -> None:
        session = self.new_session()
        init = {"clientId": "a", "kind": "AUDIO", "fileName": "f", "mimeType": "m", "fileSize": 1, "chunkSize": 1}
        assets = f"/sessions/{session['id']}/assets"
        cases = [
            ("POST", "/devices", {"name": "R", "batteryLevel": 101}),
            ("POST", "/devices", {"name": "R", "peripheralUUID": None}),
            ("PUT", f"/devices/{NOWHERE}", {"isConnected": 1}),
            ("POST", "/user/change-password", {"oldPassword": "secret1", "newPassword": "short"}),
            ("PUT", "/user/profile", {"avatarURL": "picture"}),
            ("POST", assets + "/init", init | {"fileSize": 0}),
            ("POST", assets + "/init", init | {"chunkSize": 0}),
            ("POST", assets + "/init", init | {"kind": "VIDEO"}),
            ("POST", assets + "/complete", {"uploadId": "7", "totalChunks": 1}),
        ]
        for method, path, body in cases:
            with self.subTest(path=path, body=body):
                self.call("", method, path, body, status=400)
        self.assertEqual(self.rules(), ["schema"] * len(cases))

    def test_register_and_login_bodies(self) -> None:
        self.token = ""
        good = {"username": "bob", "identifier": "+49 30 123456", "password": "secret9"}
        for change in ({"username": "b"}, {"password": "12345"}, {"identifier": "bob"}):
            self.call("register", "POST", "/auth/register", good | change, status=400)
        self.call("login", "POST", "/auth/login", {"identifier": "alice"}, status=400)
        self.assertEqual(self.rules(), ["schema", "schema", "identifier", "schema"])
        self.assertEqual(
            self.call("register", "POST", "/auth/register", good).data["user"]["phoneNumber"], "+49 30 123456"
        )


class AddressTests(CloudTestCase):
    def test_paths(self) -> None:
        cases = [
            ("GET", "/session", 404, "unknown-path"),
            ("GET", "/health/", 404, "unknown-path"),
            ("PATCH", "/devices", 405, "method"),
            ("DELETE", "/devices/7", 400, "path-uuid"),
            ("GET", "/sessions?includeDeleted=1", 400, "schema"),
            ("GET", "/sessions?deleted=true", 400, "unknown-query"),
        ]
        for method, path, status, _ in cases:
            with self.subTest(path=path):
                self.call("", method, path, status=status)
        self.assertEqual(self.rules(), [rule for *_, rule in cases])

    def test_unknown_ids_are_404_and_no_breach(self) -> None:
        session = self.new_session()
        body = {"uploadId": NOWHERE, "totalChunks": 1}
        self.call("unbindDevice", "DELETE", f"/devices/{NOWHERE}", status=404)
        self.call("downloadAsset", "GET", f"/sessions/{session['id']}/assets/{NOWHERE}", status=404)
        self.call("downloadAsset", "GET", f"/sessions/{NOWHERE}/assets/{NOWHERE}", status=404)
        self.call("completeChunkedUpload", "POST", f"/sessions/{session['id']}/assets/complete", body, status=404)
        self.send_chunk(session, {"uploadId": NOWHERE}, 0, b"x", status=404)
        self.assertEqual(self.rules(), [])

    def test_another_users_things_are_404(self) -> None:
        session = self.new_session()
        device = self.call("bindDevice", "POST", "/devices", {"name": "R", "peripheralUUID": "p"}).data
        body = {"username": "bob", "identifier": "bob@example.org", "password": "secret9"}
        self.token = ""
        self.token = self.call("register", "POST", "/auth/register", body).data["token"]
        self.call("updateDevice", "PUT", f"/devices/{device['id']}", {}, status=404)
        self.upload_small(session, "a", b"x", status=404)
        self.assertEqual(self.call("listSessions", "GET", "/sessions").data, [])


class TokenTests(CloudTestCase):
    def test_bearer_on_everything_but_the_open_routes(self) -> None:
        good = self.token
        for token, rules in (("", ["missing-bearer"]), ("made-up", ["unknown-token"])):
            self.token = token
            self.call("getProfile", "GET", "/user/profile", status=401)
            self.assertEqual(self.rules(), rules)
            self.cloud.control("POST", "reset")
        self.token = good  # the reset forgot it
        self.call("getProfile", "GET", "/user/profile", status=401)

    def test_refresh_rotates_and_the_old_token_is_dead(self) -> None:
        self.cloud.control("POST", "expire-tokens")
        self.call("getProfile", "GET", "/user/profile", status=401)
        self.token = ""
        old = {"refreshToken": self.refresh_token}
        new = self.call("refreshAccessToken", "POST", "/auth/refresh", old).data
        self.call("refreshAccessToken", "POST", "/auth/refresh", old, status=401)
        self.token = new["token"]
        self.call("getProfile", "GET", "/user/profile")
        self.assertEqual(
            self.state()["users"][0]["tokens"],
            {"generation": 2, "usedGeneration": 2, "logins": 1, "refreshes": 1},
        )
        self.assertEqual((self.rules(), self.rules("advice")), ([], ["dead-refresh-token"]))

    def test_a_new_password_ends_other_logins(self) -> None:
        first, self.token = self.token, ""
        self.token = self.call("login", "POST", "/auth/login", {"identifier": "alice", "password": "secret1"}).data[
            "token"
        ]
        body = {"oldPassword": "secret1", "newPassword": "secret2"}
        self.call("changePassword", "POST", "/user/change-password", body)
        self.call("getProfile", "GET", "/user/profile")
        self.token = first
        self.call("getProfile", "GET", "/user/profile", status=401)

    def test_advice_on_login_connections(self) -> None:
        connection = self.cloud.connection()
        body = json.dumps({"identifier": "alice", "password": "secret1"})
        for path in ("/health", "/auth/login"):
            method = "GET" if path == "/health" else "POST"
            connection.request(method, self.cloud.base + path, body, {"Content-Type": "application/json"})
            connection.getresponse().read()
        connection.close()
        self.assertEqual(self.rules("advice"), ["needless-body", "reused-connection"])


class RevisionTests(CloudTestCase):
    def test_an_existing_session_needs_its_revision(self) -> None:
        session = self.new_session()
        self.upload_small(session, "a0", b"x")
        for base in ({}, {"baseRevision": None}, {"baseRevision": 1}, {"baseRevision": 3}):
            body = self.session_body(clientId=session["clientId"]) | base
            answer = self.call("upsertSession", "POST", "/sessions", body, status=409)
            self.assertEqual((answer.envelope["code"], answer.data), (409, {"serverRevision": 2}))
        body = self.session_body(clientId=session["clientId"], baseRevision=2)
        self.assertEqual(self.call("upsertSession", "POST", "/sessions", body).data["revision"], 3)
        self.assertEqual(self.rules(), [])


class FormTests(CloudTestCase):
    def test_the_small_route_ends_below_16_mib(self) -> None:
        session = self.new_session()
        self.upload_small(session, "a", bytes((16 << 20) - 1))
        self.upload_small(session, "b", bytes(16 << 20), status=400)
        self.assertEqual(self.rules(), ["small-route-size"])

    def test_bad_forms(self) -> None:
        session = self.new_session()
        good = form({"clientId": "a", "kind": "AUDIO"}, b"x")
        cases = [
            (form({"clientId": "a"}, b"x"), "schema"),
            (form({"clientId": "a", "kind": "VIDEO"}, b"x"), "schema"),
            (form({"clientId": "a", "kind": "AUDIO", "fileName": "x"}, b"x"), "unknown-field"),
            (good.replace(b'; filename="take 1.wav"', b""), "file-name"),
            (good.replace(b'name="file"', b'name="data"'), "unknown-field"),
            (good.replace(b'name="kind"', b'name="clientId"'), "multipart-field"),
            (good.removesuffix(b"--XX--\r\n"), "multipart"),
            (b"--XX--\r\n", "multipart-field"),
            (b"", "multipart"),
            (b"preamble\r\n" + good, "multipart"),
            (good.replace(b"form-data", b"attachment"), "multipart"),
        ]
        for body, _ in cases:
            self.call_form("uploadAsset", f"/sessions/{session['id']}/assets", body, status=400)
        self.assertEqual(self.rules(), [rule for _, rule in cases])
        self.assertEqual(self.state()["sessions"][0]["assets"], [])
        self.call("uploadAsset", "POST", f"/sessions/{session['id']}/assets", {"clientId": "a"}, status=400)

    def test_file_names_and_bytes_near_the_boundary(self) -> None:
        session = self.new_session()
        cases = [
            (r"a\"b\\c.wav", "c.wav", b"\r\n--X"),
            ("../../etc/passwd", "passwd", b"\r\n--XY"[:5] * 3),
            ("Größe 🎤.wav", "Größe 🎤.wav", b"\r\n"),
            ("zero.wav", "zero.wav", b""),
        ]
        for number, (sent, stored, data) in enumerate(cases):
            body = form({"clientId": f"a{number}", "kind": "AUDIO"}, data, name=sent)
            asset = self.call_form("uploadAsset", f"/sessions/{session['id']}/assets", body).data["asset"]
            self.assertEqual((asset["fileName"], asset["sizeBytes"]), (stored, len(data)))
        self.assertEqual((self.rules(), self.rules("advice")), ([], ["empty-file"]))

    def test_the_same_client_id_with_other_bytes_is_a_breach(self) -> None:
        session = self.new_session()
        first = self.upload_small(session, "a", b"one").data["asset"]
        self.assertEqual(self.upload_small(session, "a", b"two").data["sizeBytes"], first["sizeBytes"])
        self.assertEqual(self.rules(), ["asset-bytes-differ"])

    def test_advice_on_weak_forms(self) -> None:
        session = self.new_session()
        head, tail = form({"clientId": "a", "kind": "AUDIO"}, b"x").split(
            b'--XX\r\nContent-Disposition: form-data; name="file"'
        )
        file = b'--XX\r\nContent-Disposition: form-data; name="file"' + tail.removesuffix(b"--XX--\r\n")
        body = file.replace(b"Content-Type: audio/wav\r\n", b"") + head + b"--XX--\r\n"
        asset = self.call_form("uploadAsset", f"/sessions/{session['id']}/assets", body).data["asset"]
        self.assertEqual(asset["mimeType"], "application/octet-stream")
        self.assertEqual(self.rules("advice"), ["file-not-last", "file-type"])

    def test_a_client_that_leaves_is_no_breach(self) -> None:
        session = self.new_session()
        body = form({"clientId": "a", "kind": "AUDIO"}, bytes(100_000))
        connection = http.client.HTTPConnection(self.cloud.host, self.cloud.port, timeout=20)
        connection.putrequest("POST", f"{self.cloud.base}/sessions/{session['id']}/assets")
        connection.putheader("Authorization", "Bearer " + self.token)
        connection.putheader("Content-Type", "multipart/form-data; boundary=XX")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:50_000])
        connection.close()
        self.wait_until(lambda: "uploadAsset" in self.state()["requests"])
        self.assertEqual(self.state()["requests"]["uploadAsset"]["outcomes"], {"disconnected": 1})
        self.assertEqual(self.rules(), [])


class ChunkTests(CloudTestCase):
    def test_sizes_and_indices(self) -> None:
        session = self.new_session()
        upload = self.start_upload(session, 10, 4)
        self.assertEqual(upload["totalChunks"], 3)
        for index, data, rule in (
            (0, b"012", "chunk-size"),
            (0, b"01234", "chunk-size"),
            (2, b"0123", "chunk-size"),
            (3, b"01", "chunk-index"),
        ):
            self.send_chunk(session, upload, index, data, status=400)
            self.assertEqual(self.rules()[-1], rule)
        path = f"/sessions/{session['id']}/assets/chunk"
        for index in ("-1", "1.0", "", "x"):
            body = form({"uploadId": upload["uploadId"], "chunkIndex": index}, b"0123")
            self.call_form("uploadChunk", path, body, status=400)
            self.assertEqual(self.rules()[-1], "schema")

    def test_an_exact_multiple_has_no_empty_chunk(self) -> None:
        upload = self.start_upload(self.new_session(), 16 << 20, 8 << 20)
        self.assertEqual(upload["totalChunks"], 2)

    def test_complete_wants_all_chunks_and_their_number(self) -> None:
        session = self.new_session()
        upload = self.start_upload(session, 10, 5)
        self.send_chunk(session, upload, 1, b"56789")
        self.complete(session, upload, status=400)
        self.send_chunk(session, upload, 0, b"01234")
        self.complete(session, upload | {"totalChunks": 3}, status=400)
        self.assertEqual(self.rules(), ["missing-chunks", "total-chunks"])
        self.complete(session, upload)
        self.send_chunk(session, upload, 0, b"01234", status=404)

    def test_an_upload_belongs_to_its_session_and_expires(self) -> None:
        session, other = self.new_session(), self.new_session()
        upload = self.start_upload(session, 10, 5)
        self.send_chunk(other, upload, 0, b"01234", status=404)
        self.cloud.control("POST", "expire-uploads")
        self.send_chunk(session, upload, 0, b"01234", status=410)
        self.complete(session, upload, status=410)
        self.assertEqual(self.state()["uploads"][0]["state"], "expired")


class QuotaTests(CloudTestCase):
    def test_413_with_the_numbers(self) -> None:
        session = self.new_session()
        self.cloud.control("POST", "quota", {"totalBytes": 100, "otherUsedBytes": 30})
        self.upload_small(session, "a", bytes(50))
        numbers = {"totalBytes": 100, "usedBytes": 80, "remainingBytes": 20}
        self.assertEqual(self.call("getStorageQuota", "GET", "/storage/quota").data, numbers)
        self.assertEqual(self.upload_small(session, "b", bytes(21), status=413).data, numbers | {"requiredBytes": 21})
        body = {"clientId": "c", "kind": "AUDIO", "fileName": "f", "mimeType": "m", "fileSize": 21, "chunkSize": 21}
        self.call("initializeChunkedUpload", "POST", f"/sessions/{session['id']}/assets/init", body, status=413)
        self.assertEqual(self.rules(), [])


class LifetimeTests(CloudTestCase):
    arguments = ("--token-lifetime", "0", "--clock-skew", "-86400")

    def test_tokens_expire_by_the_servers_clock(self) -> None:
        answer = self.call("getProfile", "GET", "/user/profile", status=401)
        self.assertIn("expired", answer.envelope["message"])
        self.assertEqual(self.rules(), [])
