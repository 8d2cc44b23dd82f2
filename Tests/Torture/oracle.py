"""What must hold after every crash, whatever was under way: nothing lost, nothing twice, nothing claimed.

The queue is judged from its files alone, without celestiad; the cloud by what the simulator really holds.
"""
import base64
import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path


class Broken(Exception):
    """A promise was not kept."""


def expect(condition, what):
    if not condition:
        raise Broken(what)


class Oracle:
    """Remembers what was promised so far, and compares."""

    def __init__(self, state):
        self.state = Path(state)
        self.identities = {}
        self.digests = {}

    # The queue, while no daemon runs.

    def check_queue(self, deleted_objects):
        """`deleted_objects`: the objects that the recorder was told to delete; their bytes exist nowhere else."""
        with tempfile.TemporaryDirectory() as folder:
            # Opening it would change it.
            for name in ("queue.db", "queue.db-wal"):
                if (self.state / name).exists():
                    shutil.copy(self.state / name, folder)
            database = sqlite3.connect(f"{folder}/queue.db")
            database.row_factory = sqlite3.Row
            try:
                self._check_database(database, deleted_objects)
            finally:
                database.close()

    def _check_database(self, database, deleted_objects):
        finding = database.execute("PRAGMA integrity_check").fetchone()[0]
        expect(finding == "ok", f"the database is damaged: {finding}")
        if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'assets'").fetchone():
            expect(not self.identities and not deleted_objects, "the queue is gone")
            return
        self._check_identities(database)
        receipts = {row["asset_seq"]: row for row in database.execute("SELECT * FROM receipts WHERE asset_seq NOT NULL")}
        safe = set()
        for asset in database.execute(
                "SELECT a.*, s.id AS session FROM assets a JOIN sessions s ON s.seq = a.session_seq"):
            if self._check_asset(asset, receipts.get(asset["seq"])):
                safe.add(asset["source_key"])
        lost = [name for name in deleted_objects if not any(name in key for key in safe)]
        manifests = {row[0] for row in database.execute(
            "SELECT manifest_object_id FROM sessions WHERE manifest_object_id NOT NULL")}
        lost = [name for name in lost if not any(name in manifest for manifest in manifests)]
        expect(not lost, f"the recorder was told to delete what is stored nowhere else: {lost}")

    def _check_identities(self, database):
        now = {("session", row["id"]): row["client_id"] for row in database.execute("SELECT id, client_id FROM sessions")}
        now |= {("asset", row["id"]): row["client_id"] for row in database.execute("SELECT id, client_id FROM assets")}
        for identity, client in self.identities.items():
            expect(identity in now, f"{identity} is no longer in the queue")
            expect(now[identity] == client, f"{identity} was {client} for the cloud and is now {now[identity]}")
        self.identities = now

    def _check_asset(self, asset, receipt):
        """Whether the asset's bytes are safe: on the disk with their digest, or acknowledged by the cloud."""
        name = f"asset {asset['id']} ({asset['pull_state']}, {asset['upload_state']})"
        if asset["upload_state"] == "uploaded":
            expect(receipt, f"{name} has no receipt")
            expect(receipt["sha256"].lower() == asset["sha256"].lower(), f"{name}: the receipt is of other bytes")
        if asset["pull_state"] == "stored":
            file = self.state / "spool" / asset["session"] / asset["id"]
            if not file.exists() and asset["upload_state"] == "uploaded":
                # Let go of after the cloud had it, and the crash came before that was noted.
                return True
            expect(file.exists(), f"{name}: its file is gone")
            expect(file.stat().st_size == asset["byte_size"], f"{name}: its file has another size")
            expect(self._digest(file) == asset["sha256"].lower(), f"{name}: its file has other bytes")
            return True
        expect(asset["recorder_state"] not in ("deleting", "deleted") or receipt, f"{name} was deleted on the recorder")
        return receipt is not None

    def _digest(self, file):
        status = file.stat()
        key = (str(file), status.st_ino, status.st_size, status.st_mtime_ns)
        if key not in self.digests:
            self.digests[key] = hashlib.sha256(file.read_bytes()).hexdigest()
        return self.digests[key]

    # The login, while no daemon runs.

    def check_tokens(self, tokens):
        """`tokens`: what the simulator says of the user's. The newest that was ever used is on the disk; one whose answer
        was lost is not, and then the file says that a refresh was under way."""
        here, is_explained = self._credentials()
        expect(here is not None, "the credentials are gone, or cannot be read")
        expect(here <= tokens["generation"], f"token {here} is on the disk and was never given")
        expect(
            here >= tokens["usedGeneration"],
            f"token {tokens['usedGeneration']} was used, and on the disk is {here}: the newest refresh token is lost")
        expect(
            here == tokens["generation"] or is_explained,
            f"token {tokens['generation']} was given, on the disk is {here}, and nothing there says that its answer was lost")

    def check_expired(self, tokens):
        """celestiad says that its login is dead: only because the answer to a refresh was lost."""
        here, is_explained = self._credentials()
        expect(
            here is not None and here < tokens["generation"] and is_explained,
            f"the login is called expired, with token {here} on the disk and {tokens['generation']} the newest")

    def _credentials(self):
        """The number of the token on the disk, as the server gave it, and whether a refresh was under way."""
        try:
            stored = json.loads((self.state / "credentials").read_text())
            payload = stored["token"].split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            return claims["gen"], stored["refreshInflight"]
        except (OSError, ValueError, KeyError, IndexError):
            return None, False

    # The cloud, once everything is there.

    def check_cloud(self, files, state, violations):
        """`files`: the digest of each file that was ever recorded, by its name."""
        assets = [asset for session in state["sessions"] for asset in session["assets"]]
        for what, counts in (
                ("session", Counter(session["clientId"] for session in state["sessions"])),
                ("asset", Counter(asset["clientId"] for asset in assets)),
                ("file", Counter(asset["fileName"] for asset in assets))):
            twice = [name for name, count in counts.items() if count > 1]
            expect(not twice, f"more than once in the cloud, {what}: {twice}")
        found = {asset["fileName"]: asset["sha256"].lower() for asset in assets}
        missing = sorted(set(files) - set(found))
        expect(not missing, f"not in the cloud: {missing}")
        other = [name for name, digest in files.items() if found[name] != digest]
        expect(not other, f"other bytes in the cloud: {other}")
        expect(not violations, f"requests that break the contract: {json.dumps(violations[:3])}")
