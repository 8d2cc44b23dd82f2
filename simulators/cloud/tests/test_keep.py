"""A cloud that is killed goes on with what it has said, where it is told to."""

import tempfile

from .harness import CloudTestCase, Simulator, random_bytes

CHUNK = 8 << 20


class KeepTests(CloudTestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.start("--keep")
        login = {"identifier": "alice", "password": "secret1"}
        self.token = self.call("login", "POST", "/auth/login", login).data["token"]

    def start(self, *arguments: str) -> None:
        """In this test's place of the cloud that the class shares."""
        self.cloud = Simulator("--user", "alice:secret1", "--data", self.folder, *arguments)
        self.addCleanup(self.cloud.close)

    def kill(self) -> None:
        self.cloud.process.kill()
        self.cloud.process.wait()

    def test_tokens_sessions_files_and_open_uploads_outlive_a_kill(self) -> None:
        session = self.new_session()
        self.upload_small(session, "small", b"abc")
        data = random_bytes(16 << 20)
        upload = self.start_upload(session, len(data), CHUNK, "large")
        self.send_chunk(session, upload, 0, data[:CHUNK])
        self.kill()
        self.start("--keep")
        self.send_chunk(session, upload, 1, data[CHUNK:])
        self.complete(session, upload)
        (found,) = self.state()["sessions"]
        self.assertEqual({"small", "large"}, {asset["clientId"] for asset in found["assets"]})

    def test_without_it_a_start_forgets(self) -> None:
        self.upload_small(self.new_session(), "small", b"abc")
        self.kill()
        self.start()
        self.assertEqual([], self.state()["sessions"])
