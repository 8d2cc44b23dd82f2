"""Each fault strikes as it says, and what it says about the commit is true."""

import hashlib
import http.client
import json
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable
from contextlib import closing
from email.utils import formatdate
from pathlib import Path
from typing import Any

from .harness import SCRIPT, CloudTestCase, Simulator, random_bytes

GONE = (http.client.RemoteDisconnected, ConnectionError)


class FaultTests(CloudTestCase):
    def sessions(self) -> int:
        return len(self.state()["sessions"])

    def upsert(self, status: int = 200):
        return self.call("upsertSession", "POST", "/sessions", self.session_body(), status=status)

    def test_status_before_and_after_the_commit(self) -> None:
        self.fault(route="upsertSession", action="status", status=503, headers={"Retry-After": "7"})
        answer = self.upsert(503)
        self.assertEqual((answer.headers["Retry-After"], answer.envelope["code"], self.sessions()), ("7", 503, 0))
        self.fault(route="upsertSession", action="status", status=504, commit=True, body="")
        self.assertEqual((self.upsert(504).body, self.sessions()), (b"", 1))
        self.fault(route="upsertSession", action="status", status=403, early=True, code=7, message="no", data=[1])
        self.assertEqual(self.upsert(403).envelope, {"code": 7, "message": "no", "data": [1]})
        self.upsert()

    def test_answers_that_are_no_envelope(self) -> None:
        self.fault(route="upsertSession", action="html", status=413)
        answer = self.upsert(413)
        self.assertEqual(answer.headers["Content-Type"], "text/html")
        self.assertIn(b"413 Request Entity Too Large", answer.body)
        self.fault(route="*", action="not_json")
        answer = self.cloud.send("GET", self.cloud.base + "/health")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/json"))
        with self.assertRaises(ValueError):
            json.loads(answer.body)
        self.assertEqual(self.sessions(), 0)

    def test_drops(self) -> None:
        for action, kept in (("drop_before_commit", 0), ("drop_after_commit", 1)):
            self.fault(route="upsertSession", action=action)
            with self.assertRaises(GONE):
                self.upsert()
            self.assertEqual(self.sessions(), kept)
        self.assertEqual(self.state()["requests"]["upsertSession"]["outcomes"], {"cut": 2})

    def test_drops_by_a_reset(self) -> None:
        for action, kept in (("drop_before_commit", 0), ("drop_after_commit", 1), ("truncated_body", 2)):
            self.fault(route="upsertSession", action=action, reset=True)
            with self.assertRaises((ConnectionResetError, http.client.IncompleteRead)):
                self.upsert()
            self.assertEqual(self.sessions(), kept)

    def test_a_token_that_expires_is_refused_and_the_next_one_is_good(self) -> None:
        self.fault(route="getProfile", action="expire_token")
        self.call("getProfile", "GET", "/user/profile", status=401)
        self.token = self.call(
            "refreshAccessToken", "POST", "/auth/refresh", {"refreshToken": self.refresh_token}
        ).data["token"]
        self.call("getProfile", "GET", "/user/profile")

    def test_a_refresh_whose_answer_is_lost_spends_the_token(self) -> None:
        self.fault(route="refreshAccessToken", action="drop_after_commit")
        body = {"refreshToken": self.refresh_token}
        with self.assertRaises(GONE):
            self.call("refreshAccessToken", "POST", "/auth/refresh", body)
        self.call("refreshAccessToken", "POST", "/auth/refresh", body, status=401)

    def test_reset_inside_the_body(self) -> None:
        session = self.new_session()
        self.fault(route="uploadAsset", action="reset_at", bytes=70_000)
        with self.assertRaises(ConnectionError):
            self.upload_small(session, "a", bytes(4 << 20))
        self.assertEqual(self.state()["sessions"][0]["assets"], [])
        received = self.state()["requests"]["uploadAsset"]["bodyBytes"]
        self.assertGreaterEqual(received, 70_000)
        self.assertLess(received, 4 << 20)
        self.upload_small(session, "a", bytes(4 << 20))
        self.assertEqual(self.rules(), [])

    def test_truncated_and_trickled_answers(self) -> None:
        self.fault(route="upsertSession", action="truncated_body", bytes=5)
        with self.assertRaises(http.client.IncompleteRead) as caught:
            self.upsert()
        self.assertEqual((caught.exception.partial, self.sessions()), (b'{"cod', 1))
        self.fault(route="upsertSession", action="trickle", ms=0)
        self.upsert()
        session = self.new_session()
        asset = self.upload_small(session, "a", bytes(1000)).data["asset"]
        self.fault(route="downloadAsset", action="truncated_body", bytes=10)
        path = f"{self.cloud.base}/sessions/{session['id']}/assets/{asset['id']}"
        with self.assertRaises(http.client.IncompleteRead):
            self.cloud.send("GET", path, Authorization="Bearer " + self.token)

    def test_stall_is_silence_and_then_the_end(self) -> None:
        self.fault(route="upsertSession", action="stall", ms=50)
        with self.assertRaises(GONE):
            self.upsert()
        self.assertEqual(self.sessions(), 0)
        self.fault(route="upsertSession", action="stall", commit=True)
        connection = self.cloud.connection()
        connection.request(
            "POST", self.cloud.base + "/sessions", json.dumps(self.session_body()),
            {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"},
        )  # fmt: skip
        self.wait_until(lambda: self.sessions() == 1)
        connection.close()
        self.wait_until(lambda: self.state()["requests"]["upsertSession"]["outcomes"] == {"cut": 2})

    def test_delays_add_up_and_go_with_another_fault(self) -> None:
        self.fault(route="upsertSession", action="delay_before", ms=60)
        self.fault(route="upsertSession", action="delay_after", ms=60)
        self.fault(route="upsertSession", action="status", status=500, commit=True)
        started = time.monotonic()
        self.upsert(500)
        self.assertGreaterEqual(time.monotonic() - started, 0.12)
        self.assertEqual(self.cloud.control("GET", "requests").envelope["requests"][-1]["fault"],
                         "delay_before+delay_after+status")  # fmt: skip

    def test_wrong_sha256_once_or_for_good(self) -> None:
        session = self.new_session()
        good = self.upload_small(session, "a", b"x").data["asset"]["sha256"].lower()
        self.fault(route="uploadAsset", action="wrong_sha256")
        self.assertNotEqual(self.upload_small(session, "b", b"x").data["asset"]["sha256"].lower(), good)
        self.fault(route="uploadAsset", action="wrong_sha256", persist=True)
        self.upload_small(session, "c", b"x")
        listed = self.call("listSessions", "GET", "/sessions").data[0]["assets"]
        self.assertEqual([asset["sha256"].lower() == good for asset in listed], [True, True, False])

    def test_faults_of_the_chunked_route(self) -> None:
        session = self.new_session()
        self.fault(route="initializeChunkedUpload", action="chunk_size", bytes=3)
        upload = self.start_upload(session, 10, 5)
        self.assertEqual((upload["chunkSize"], upload["totalChunks"]), (3, 4))
        self.fault(route="uploadChunk", action="short_count")
        self.assertEqual(self.send_chunk(session, upload, 0, b"012").data["uploadedChunks"], 0)
        self.assertEqual(self.send_chunk(session, upload, 1, b"345").data["uploadedChunks"], 2)
        self.fault(route="uploadChunk", action="expire_upload")
        self.send_chunk(session, upload, 2, b"678", status=410)
        self.send_chunk(session, upload, 2, b"678", status=410)

    def test_a_complete_whose_answer_is_lost_is_replayed(self) -> None:
        session = self.new_session()
        upload = self.start_upload(session, 4, 4)
        self.send_chunk(session, upload, 0, b"0123")
        self.fault(route="completeChunkedUpload", action="drop_after_commit")
        with self.assertRaises(GONE):
            self.complete(session, upload)
        self.assertNotIn("asset", self.complete(session, upload).data)
        self.assertEqual(len(self.state()["sessions"][0]["assets"]), 1)


class SelectionTests(CloudTestCase):
    def outcomes(self, count: int) -> list[int]:
        path = self.cloud.base + "/health"
        return [self.cloud.send("GET", path).status for _ in range(count)]

    def test_which_requests_are_struck(self) -> None:
        cases = [
            ({}, [503, 200, 200, 200]),
            ({"nth": 3}, [200, 200, 503, 200]),
            ({"nth": 2, "times": 2}, [200, 503, 503, 200]),
            ({"every": 2}, [200, 503, 200, 503]),
            ({"every": 2, "times": 1}, [200, 503, 200, 200]),
            ({"always": True}, [503, 503, 503, 503]),
            ({"always": True, "times": 2}, [503, 503, 200, 200]),
        ]
        for which, expected in cases:
            with self.subTest(which):
                self.fault(route="getHealth", action="status", status=503, **which)
                self.assertEqual(self.outcomes(4), expected)
                fired = self.cloud.control("DELETE", "faults").envelope["faults"][0]["fired"]
                self.assertEqual(fired, expected.count(503))

    def test_random_faults_repeat_with_their_seed_and_spare_the_login(self) -> None:
        body = {"seed": 4, "oneIn": 2, "actions": ["status"], "routes": ["getHealth"]}
        runs = []
        for _ in range(2):
            self.assertEqual(self.cloud.control("POST", "faults/random", body).status, 200)
            runs.append(self.outcomes(12))
        self.assertEqual(runs[0], runs[1])
        self.assertIn(200, runs[0])
        self.assertGreater(len(set(runs[0])), 1)
        self.cloud.control("POST", "faults/random", {"oneIn": 1, "actions": ["status"]})
        self.call("logout", "POST", "/auth/logout")

    def test_random_refusals_of_every_kind_and_rotations_that_leave_a_way_on(self) -> None:
        kinds = ["refusal", "gateway_limit", "over_quota"]
        self.cloud.control("POST", "faults/random", {"seed": 3, "oneIn": 1, "actions": kinds})
        seen = {status for status in self.outcomes(200)}
        self.assertEqual(seen, {401, 404, 409, 410, 413, 423})
        self.assertEqual(set(self.cloud.control("GET", "faults").envelope["random"]["struck"]), set(kinds))
        everything = {"oneIn": 1, "actions": ["status", "truncated_body", "refusal"], "routes": ["refreshAccessToken"]}
        body = {"refreshToken": self.refresh_token}
        for seed in range(20):
            self.cloud.control("POST", "faults/random", everything | {"seed": seed})
            self.assertGreaterEqual(self.cloud.send(
                "POST", self.cloud.base + "/auth/refresh", json.dumps(body).encode(), Content_Type="application/json"
            ).status, 408)  # fmt: skip
        self.cloud.control("DELETE", "faults")
        self.call("refreshAccessToken", "POST", "/auth/refresh", body)

    def test_a_retrying_client_gets_through_all_random_faults_with_one_asset(self) -> None:
        session = self.new_session()
        self.cloud.control("POST", "faults/random", {"seed": 7, "oneIn": 2})
        data = random_bytes(300_000)
        upload = self.retried(lambda: self.start_upload(session, len(data), 100_000))
        for index in range(3):
            part = data[index * 100_000 : (index + 1) * 100_000]
            self.retried(lambda index=index, part=part: self.send_chunk(session, upload, index, part))
        for _ in range(5):
            asset = self.retried(lambda: self.complete(session, upload).data)
            self.retried(lambda: self.upload_small(session, "small", data))
        self.cloud.control("DELETE", "faults")
        self.assertEqual(asset["sha256"].lower(), hashlib.sha256(data).hexdigest())
        state = self.state()
        self.assertEqual([item["clientId"] for item in state["sessions"][0]["assets"]], ["a1", "small"])
        self.assertEqual(state["sessions"][0]["revision"], 3)
        self.assertNotIn("crashed", str(state["requests"]))
        self.assertEqual(self.rules(), [])

    def retried(self, step: Callable[[], Any]) -> Any:
        for _ in range(100):
            try:
                return step()
            except (AssertionError, ValueError, ConnectionError, http.client.HTTPException):
                continue
        self.fail("100 attempts were not enough")

    def test_bad_faults_are_refused_whole(self) -> None:
        good = {"route": "getHealth", "action": "status", "status": 500}
        for bad in (
            {"route": "getHealt", "action": "html"},
            {"action": "explode"},
            {"action": "status"},
            {"action": "html", "nth": 0},
            {"action": "html", "nth": 1, "always": True},
            {"action": "html", "ms": 5},
            {"action": "html", "early": True, "commit": True},
            {"action": "delay_before", "ms": True},
        ):
            with self.subTest(bad):
                self.assertEqual(self.cloud.control("POST", "faults", [good, bad]).status, 400)
        self.assertEqual(self.cloud.control("POST", "faults/random", {"oneIn": 0}).status, 400)
        self.assertEqual(self.cloud.control("POST", "fault", []).status, 404)
        self.assertEqual(self.rules(), [])
        self.assertEqual(self.outcomes(1), [200])


class ProcessTests(unittest.TestCase):
    def test_a_breach_is_printed(self) -> None:
        cloud = Simulator()
        cloud.send("GET", cloud.base + "/user/profile")
        line = cloud.process.stdout.readline()
        self.assertEqual(line, "violation getProfile: missing-bearer 'no Authorization header'\n")
        cloud.close()

    def test_it_ends_with_its_standard_input_even_when_it_stalls(self) -> None:
        cloud = Simulator()
        cloud.control("POST", "faults", [{"route": "getHealth", "action": "stall", "always": True}])
        with socket.create_connection((cloud.host, cloud.port)) as client:
            client.sendall(f"GET {cloud.base}/health HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            self.assertEqual(cloud.close(), 0)

    def test_success_code_and_skewed_date(self) -> None:
        cloud = Simulator("--success-code", "200", "--clock-skew", "-864000")
        answer = cloud.send("GET", cloud.base + "/health")
        self.assertEqual(answer.envelope["code"], 200)
        self.assertNotEqual(answer.headers["Date"][:16], formatdate(usegmt=True)[:16])
        cloud.close()

    def test_a_data_folder_is_kept_and_never_taken_from_others(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "own").mkdir()
            (Path(name) / "foreign").mkdir()
            (Path(name) / "foreign" / "assets").touch()
            first = Simulator("--data", f"{name}/own")
            for path, text in ((f"{name}/own", "in use"), (f"{name}/foreign", "neither empty")):
                run = subprocess.run([SCRIPT, "--data", path], stderr=subprocess.PIPE, text=True, timeout=20)
                self.assertEqual(run.returncode, 2)
                self.assertIn(text, run.stderr)
            first.close()
            self.assertEqual(Simulator("--data", f"{name}/own").close(), 0)
            self.assertTrue((Path(name) / "foreign" / "assets").exists())

    def test_tls(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            certificate, key = f"{name}/cert.pem", f"{name}/key.pem"
            command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
            names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key]
            subprocess.run([*command.split(), *names], check=True, stderr=subprocess.DEVNULL)
            cloud = Simulator("--tls", certificate, key)
            self.addCleanup(cloud.close)
            self.assertTrue(cloud.url.startswith("https://127.0.0.1:"))
            context = ssl.create_default_context(cafile=certificate)
            self.assertEqual(self.get_health(cloud, context), 200)
            fault = [{"route": "getHealth", "action": "reset_at", "bytes": 0}]
            with self.client(cloud, context) as client:
                client.request("POST", "/_sim/faults", json.dumps(fault))
                self.assertEqual(client.getresponse().status, 200)
            with self.assertRaises((ConnectionError, ssl.SSLError)):
                self.get_health(cloud, context)

    def get_health(self, cloud: Simulator, context: ssl.SSLContext) -> int:
        with self.client(cloud, context) as client:
            client.request("GET", cloud.base + "/health")
            return client.getresponse().status

    def client(self, cloud: Simulator, context: ssl.SSLContext) -> closing[http.client.HTTPSConnection]:
        return closing(http.client.HTTPSConnection(cloud.host, cloud.port, timeout=20, context=context))
