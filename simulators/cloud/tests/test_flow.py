"""Every operation once, as a good client uses it: no breach, no advice."""

import hashlib

from .harness import CloudTestCase, random_bytes


class FlowTests(CloudTestCase):
    def tearDown(self) -> None:
        self.assertEqual(self.rules(), [])

    def test_a_capture_with_both_routes(self) -> None:
        session = self.new_session(events=[{"clientId": "e1", "relativeTimeMs": 12, "eventType": "MARKER"}])
        small, large = random_bytes(70_000), random_bytes((16 << 20) + 5)
        self.assertEqual(self.call("getStorageQuota", "GET", "/storage/quota").data["usedBytes"], 0)

        stored = self.upload_small(session, "a0", small).data
        self.assertEqual(stored["sessionRevision"], 2)
        self.assertEqual(stored["asset"]["sha256"].lower(), hashlib.sha256(small).hexdigest())
        self.assertEqual((stored["asset"]["fileName"], stored["asset"]["mimeType"]), ("take 1.wav", "audio/wav"))

        upload = self.start_upload(session, len(large), 8 << 20)
        self.assertEqual((upload["totalChunks"], upload["chunkSize"]), (3, 8 << 20))
        for index in (2, 0, 1, 0):
            part = large[index << 23 : (index + 1) << 23]
            progress = self.send_chunk(session, upload, index, part).data
        self.assertEqual(progress["uploadedChunks"], 3)
        merged = self.complete(session, upload).data
        self.assertEqual(merged["sessionRevision"], 3)
        self.assertEqual(merged["asset"]["sha256"].lower(), hashlib.sha256(large).hexdigest())

        self.call("recordSyncCheckpoint", "POST", "/sync/trigger")
        state = self.state()
        self.assertEqual([a["size"] for a in state["sessions"][0]["assets"]], [len(small), len(large)])
        self.assertEqual(state["users"][0]["checkpoints"], 1)
        digest = hashlib.sha256(large).hexdigest()
        self.assertEqual(self.cloud.control("GET", "assets/" + digest).body, large)
        self.assertEqual(self.rules("advice"), [])

    def test_download(self) -> None:
        session = self.new_session()
        asset = self.upload_small(session, "a0", b"bytes").data["asset"]
        path = f"{self.cloud.base}/sessions/{session['id']}/assets/{asset['id']}"
        answer = self.cloud.send("GET", path, Authorization="Bearer " + self.token)
        self.assertEqual((answer.status, answer.body), (200, b"bytes"))
        self.assertIn('filename="take 1.wav"', answer.headers["Content-Disposition"])
        self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")

    def test_replays_give_the_asset_alone_and_leave_the_session(self) -> None:
        session = self.new_session()
        first = self.upload_small(session, "a0", b"bytes").data["asset"]
        self.assertEqual(self.upload_small(session, "a0", b"bytes").data["id"], first["id"])
        upload = self.start_upload(session, 10, 6)
        self.send_chunk(session, upload, 0, b"012345")
        self.send_chunk(session, upload, 1, b"6789")
        asset = self.complete(session, upload).data["asset"]
        self.assertEqual(self.complete(session, upload).data["id"], asset["id"])
        again = self.start_upload(session, 10, 10)
        self.send_chunk(session, again, 0, b"0123456789")
        self.assertEqual(self.complete(session, again).data["id"], asset["id"])
        self.assertEqual(self.state()["sessions"][0]["revision"], 3)
        self.assertEqual(len(self.state()["sessions"][0]["assets"]), 2)

    def test_events_are_merged_by_client_id(self) -> None:
        event = {"clientId": "e1", "relativeTimeMs": 12, "eventType": "NOTE", "textContent": "a"}
        session = self.new_session(events=[event, event | {"clientId": "e2"}])
        body = self.session_body(
            clientId=session["clientId"],
            baseRevision=session["revision"],
            events=[event | {"textContent": "b"}],
            deletedEventClientIds=["e2"],
        )
        updated = self.call("upsertSession", "POST", "/sessions", body).data
        self.assertEqual([(e["clientId"], e["textContent"]) for e in updated["events"]], [("e1", "b")])
        self.assertEqual(updated["events"][0]["id"], session["events"][0]["id"])
        self.assertEqual(updated["revision"], 2)

    def test_a_tombstone_is_listed_and_left_alone(self) -> None:
        session = self.new_session()
        dead = self.cloud.control("POST", "tombstone", {"clientId": session["clientId"]}).envelope
        listed = self.call("listSessions", "GET", "/sessions?includeDeleted=true").data
        self.assertTrue(listed[0]["deletedAt"])
        self.assertEqual(self.call("listSessions", "GET", "/sessions?includeDeleted=false").data, [])
        self.upload_small(session, "a0", b"x", status=404)
        body = self.session_body(clientId=session["clientId"], baseRevision=dead["revision"])
        self.call("upsertSession", "POST", "/sessions", body, status=409)

    def test_account_and_device(self) -> None:
        bound = self.call(
            "bindDevice", "POST", "/devices", {"name": "R1", "peripheralUUID": "p", "batteryLevel": 7}
        ).data
        again = self.call("bindDevice", "POST", "/devices", {"name": "R2", "peripheralUUID": "p"}).data
        self.assertEqual((again["id"], again["name"], again["batteryLevel"]), (bound["id"], "R2", 7))
        changed = self.call(
            "updateDevice", "PUT", f"/devices/{bound['id']}", {"isConnected": True, "batteryLevel": None}
        )
        self.assertEqual((changed.data["isConnected"], "batteryLevel" in changed.data), (True, False))
        self.assertEqual(
            self.call("unbindDevice", "DELETE", f"/devices/{bound['id']}").data, {"deletedId": bound["id"]}
        )
        self.call("updateDevice", "PUT", f"/devices/{bound['id']}", {}, status=404)

        user = self.call("updateProfile", "PUT", "/user/profile", {"email": "a@example.org"}).data
        self.assertEqual(user["email"], "a@example.org")
        self.call(
            "changePassword", "POST", "/user/change-password", {"oldPassword": "no", "newPassword": "secret2"}, 400
        )
        self.call(
            "changePassword", "POST", "/user/change-password", {"oldPassword": "secret1", "newPassword": "secret2"}
        )
        self.call("getProfile", "GET", "/user/profile")
        self.call("logout", "POST", "/auth/logout")
        self.call("getProfile", "GET", "/user/profile", status=401)

    def test_register(self) -> None:
        self.token = ""
        self.call("getHealth", "GET", "/health")
        body = {"username": "bob", "identifier": "bob@example.org", "password": "secret9"}
        self.token = self.call("register", "POST", "/auth/register", body).data["token"]
        self.assertEqual(self.call("getProfile", "GET", "/user/profile").data["email"], "bob@example.org")
        self.token = ""
        self.call("register", "POST", "/auth/register", body, status=409)
        self.call("login", "POST", "/auth/login", {"identifier": "bob@example.org", "password": "wrong!"}, status=401)
