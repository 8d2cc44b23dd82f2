"""The whole flow around one state directory, to be killed at will: recorder, cloud, and the daemon under test."""
import json
import random
import subprocess
import sys
import time
import urllib.request
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from lab import Lab  # noqa: E402

CHUNKED = (16 << 20) + 12_345


class Rig:
    """Starts everything, logs in and pairs. `state` is where the daemon keeps its queue."""

    def __init__(self, lab, state, seed):
        self.lab, self.random = lab, random.Random(seed)
        self.files, self.captures = {}, Path(lab.path) / "captures"
        # Called when the daemon says that its login is dead; how often that was so.
        self.on_expired, self.logins = lambda: None, 0
        lab.environment |= {
            "CELESTIAD_STATE_DIRECTORY": str(state), "CELESTIAD_QUEUE_RESERVED_MIB": "0",
            "CELESTIAD_QUEUE_RESERVED_PERCENT": "0"}
        self.bus = lab.bus()
        lab.cloud("--seed", str(seed))
        self.record(small=2)
        lab.recorder(self.bus, str(self.captures), "--state", f"{lab.path}/recorder-state")

    def prepare(self):
        daemon = self.lab.daemon()
        self.lab.login()
        self.lab.pair()
        self.finish(daemon)
        self.stop(daemon)

    def record(self, small=0, chunked=0):
        """Writes captures of so many small files, and as many that take the chunked route."""
        folder = self.captures / f"capture-{len(self.files):05}"
        folder.mkdir(parents=True)
        sizes = [self.random.choice((1, 700, 40_000, 300_000)) for _ in range(small)] + [CHUNKED] * chunked
        for number, size in enumerate(sizes):
            name = f"{folder.name}-{number}.wav"
            data = self.random.randbytes(size)
            (folder / name).write_bytes(data)
            self.files[name] = sha256(data).hexdigest()

    def rescan(self):
        self.recorder("Rescan", "s", "")

    def recorder(self, method, signature="", *arguments):
        """Calls the simulated recorder; returns what it answers."""
        answer = subprocess.run(
            ["busctl", f"--address={self.bus}", "--json=short", "call", "life.ccdw.CelestiaSim1", "/sim",
             "life.ccdw.CelestiaSim1", method, signature, *arguments], check=True, capture_output=True, text=True).stdout
        return json.loads(answer)["data"] if answer.strip() else None

    def deleted_objects(self):
        return self.recorder("Deleted", "s", "")[0]

    def cloud(self, what, body=None):
        request = urllib.request.Request(f"{self.lab.sim}/{what}", data=json.dumps(body or {}).encode(), method="POST")
        urllib.request.urlopen(request).close()

    def tokens(self):
        """What the cloud has given to the only user."""
        return self.lab.simulated("state")["users"][0]["tokens"]

    # The daemon.

    def start(self, environment):
        """Starts it without waiting for anything: it may die at once."""
        log = open(f"{self.lab.path}/daemon.log", "a")
        child = subprocess.Popen(
            [f"{self.lab.binaries}/celestiad", "run"], env=self.lab.environment | environment,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.lab.children.append(child)
        return child

    def run(self, child, limit=60):
        """Lets the daemon work until it died (True), or has nothing left to do (False)."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            command = subprocess.Popen(
                [f"{self.lab.binaries}/celestiad", "sync", "--wait", "20"], env=self.lab.environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while command.poll() is None and child.poll() is None:
                time.sleep(0.005)
            if child.poll() is not None:
                command.kill()
                command.wait()
                self.lab.children.remove(child)
                return True
            if command.returncode == 0:
                return False
            if self.account() == "expired":
                self.on_expired()
                self.log_in_again(child)
        status = subprocess.run(
            [f"{self.lab.binaries}/celestiad", "status"], env=self.lab.environment, capture_output=True, text=True)
        raise TimeoutError(f"the daemon came to no end in {limit} s:\n{status.stdout}{status.stderr}")

    def log_in_again(self, child):
        """The daemon may meet its end in the middle of it."""
        self.logins += 1
        try:
            self.lab.login()
        except subprocess.CalledProcessError:
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                raise ChildProcessError("the daemon lives and takes no login") from None

    def account(self):
        # The exit status tells of the health, which is bad when the account's is.
        answer = subprocess.run(
            [f"{self.lab.binaries}/celestiad", "status", "--json"], env=self.lab.environment, capture_output=True).stdout
        return json.loads(answer or b"{}").get("account", {}).get("state")

    def finish(self, child, limit=180):
        if self.run(child, limit):
            raise ChildProcessError(f"the daemon ended with {child.returncode} and should not have")

    def stop(self, child):
        child.kill()
        child.wait()
        if child in self.lab.children:
            self.lab.children.remove(child)
