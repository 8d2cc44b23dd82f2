"""What celestiad needs around it, as processes of one script: a private bus, the simulated recorder and cloud."""
import collections
import json
import os
import subprocess
import tempfile
import threading
import urllib.request

ADDRESS = "C0:FF:EE:00:00:01"


class Lab:
    """A private bus, the simulated cloud, optionally a recorder, and the daemon; all end with the object."""

    def __init__(self, binaries):
        self.binaries = binaries
        self.folder = tempfile.TemporaryDirectory(prefix="celestiad-bench-")
        self.path = self.folder.name
        self.children = []
        # Not those of the scripts around it: celestiad refuses variables of its own that it does not know.
        around = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("CELESTIAD_", "DBUS_"))
            and name not in ("JOURNAL_STREAM", "NOTIFY_SOCKET", "STATE_DIRECTORY", "WATCHDOG_USEC")}
        self.environment = dict(
            around,
            CELESTIAD_STATE_DIRECTORY=f"{self.path}/state",
            CELESTIAD_CONFIG=f"{self.path}/celestiad.conf",
            CELESTIAD_QUEUE_RESERVED_PERCENT="0",
        )
        open(f"{self.path}/celestiad.conf", "w").close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        self.folder.cleanup()

    def start(self, command, ready, environment={}):
        child = subprocess.Popen(
            command, env=self.environment | environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, bufsize=1)
        self.children.append(child)
        said = collections.deque(maxlen=20)
        for line in child.stdout:
            if ready in line:
                threading.Thread(target=lambda: [None for _ in child.stdout], daemon=True).start()
                return child, line.strip()
            said.append(line)
        raise SystemExit(f"{command[0]} did not start:\n{''.join(said)}")

    def bus(self):
        address = f"unix:path={self.path}/bus"
        with open(f"{self.path}/bus.conf", "w") as file:
            file.write(
                f"<busconfig><type>system</type><listen>{address}</listen><auth>EXTERNAL</auth>"
                '<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>'
                "</policy></busconfig>")
        self.start(["dbus-daemon", "--nofork", "--print-address", f"--config-file={self.path}/bus.conf"], "unix:")
        self.environment["CELESTIAD_BUS"] = address
        return address

    def cloud(self, *options):
        _, line = self.start(
            ["simulators/cloud/celestia-cloud", "--exit-with-stdin", "--data", f"{self.path}/cloud", "--user",
             "ada:countess", *options], "ready ")
        self.api = line.split()[1]
        self.sim = self.api.replace("/celestia-trace/v1", "/_sim")
        self.environment["CELESTIAD_CLOUD_URL"] = self.api

    def recorder(self, bus, captures, *options):
        return self.start(
            [f"{self.binaries}/celestia-recorder", "--exit-with-stdin", "--bus", bus, "--captures", captures,
             "--mtu", "517", "--passkey", "482913", *options], "ready ")[0]

    def daemon(self, **environment):
        return self.start([f"{self.binaries}/celestiad", "run"], "ready", environment)[0]

    def cli(self, *words):
        return subprocess.run(
            [f"{self.binaries}/celestiad", *words], env=self.environment, check=True, capture_output=True,
            text=True).stdout

    def login(self):
        with open(f"{self.path}/password", "w") as file:
            file.write("countess\n")
        self.cli("login", "ada", "--password-file", f"{self.path}/password")

    def pair(self):
        self.cli("pair", "--device", ADDRESS, "--yes")

    def simulated(self, what):
        """What the cloud's control plane answers."""
        with urllib.request.urlopen(f"{self.sim}/{what}") as answer:
            return json.load(answer)
