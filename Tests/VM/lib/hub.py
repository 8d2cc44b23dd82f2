"""A hub on hci0: the simulated cloud on this machine, celestiad as the package installs it, and its command line."""

import atexit
import hashlib
import json
import os
import pty
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import dbus

import bluez
import pulse
import scenario
from scenario import expect, expect_equal, fail, note, wait_until

PROJECT = "/vm/project"
PASSWORD = "countess-of-lovelace"
OPERATOR = "ada"
BEGAN = int(time.time())
# The guest has little memory, and its disk is memory.
SETTINGS = {"General": {"LogLevel": "debug"}, "Queue": {"ReservedMiB": 16, "ReservedPercent": 0}}


class Hub:
    """celestiad with hci0, installed and started as on a hub: its own user, the bus policy, the unit's sandbox. The command
    line is run by a user of the machine who is a member of its group. hci1 is heard as on the air.
    """

    def __init__(self, directory, settings={}, cloud=None, start=True, prepare=None):
        """`settings` are sections of the configuration; `cloud` a folder in which the cloud outlives a power cut;
        `prepare` makes the operator, where the package is another one's business."""
        self.directory, self.bus = directory, dbus.SystemBus()
        path = wait_until("hci0 is on", lambda: bluez.adapter(self.bus, "hci0"))
        self.address = str(bluez.properties(self.bus, path, "org.bluez.Adapter1")["Address"])
        self.pulses = {}
        self.hear("hci1")
        atexit.register(self.show_logs)
        (prepare or install_for_operator)()
        api = self.start_cloud(cloud)
        self.settings = SETTINGS | {"Cloud": {"URL": api}, "Bluetooth": {"Adapter": self.address}} | settings
        self.configure(self.settings)
        if start:
            self.serve()
            self.log_in()

    def hear(self, adapter):
        """Hears this adapter's advertisements as on the air, until `unhear`."""
        self.pulses[adapter] = self.start(f"pulse {adapter}", sys.executable, pulse.__file__, adapter)

    def unhear(self, adapter):
        process = self.pulses.pop(adapter)
        process.terminate()
        process.wait()

    def start_cloud(self, folder):
        keep = ["--data", folder, "--keep", "--port", "7443", "--chunk-size", f"{4 << 20}"] if folder else []
        self.start("cloud", f"{PROJECT}/simulators/cloud/celestia-cloud", "--user", f"ada:{PASSWORD}", *keep)
        api = wait_until("the cloud is there", lambda: self.output("cloud").partition("ready ")[2].strip())
        self.simulator = api.removesuffix("/celestia-trace/v1") + "/_sim"
        return api

    def configure(self, settings):
        sections = (f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in keys.items())
                    for name, keys in settings.items())
        os.makedirs("/etc/celestiad", exist_ok=True)
        Path("/etc/celestiad/celestiad.conf").write_text("\n".join(sections))

    def serve(self):
        """Starts the service. systemd says when it is ready: nothing is waited for after this."""
        systemctl("start", "celestiad.service")
        note("celestiad is ready")

    def log_in(self):
        self.celestiad("login", "ada", "--password-file", "-", input=PASSWORD + "\n")

    def start(self, name, *command):
        """Starts a process; what it says is in a file of that name."""
        return subprocess.Popen(command, stdout=(self.directory / name).open("w"), stderr=subprocess.STDOUT)

    def show_logs(self):
        """For whoever reads why it failed."""
        if not scenario.failed and not Path("/vm/share/keep_logs").exists():
            return
        for path in self.directory.glob("[pr]*"):
            if path.is_file():
                print(f"--- {path.name}", path.read_text(), sep="\n")
        print("--- celestiad", journal(), sep="\n")

    def output(self, name):
        return (self.directory / name).read_text()

    def celestiad(self, *arguments, status=0, user=OPERATOR, **options):
        """Runs the command line as this user and returns what it printed; another exit status (None: any) fails."""
        done = subprocess.run(
            command_line(user, *arguments), text=True, stdout=subprocess.PIPE, timeout=300, **options)
        note(f"{user}: celestiad {' '.join(map(str, arguments))}: {done.returncode}")
        if status is not None and done.returncode != status:
            print(done.stdout)
            fail(f"exit status {status}")
        return done.stdout

    def status(self, *arguments):
        """The exit status of a command line."""
        return subprocess.run(command_line(OPERATOR, *arguments)).returncode

    def json(self, *arguments, **options):
        return json.loads(self.celestiad(*arguments, "--json", **options))

    def pair(self, address, answer, *arguments):
        """Pairs as a person does on a terminal: `answer` gets what was asked and returns what is typed. Returns the exit
        status; `said` is then what was written after the last answer."""
        terminal, end = pty.openpty()
        process = subprocess.Popen(
            command_line(OPERATOR, "pair", "--device", address, *arguments), stdin=end, stdout=end, stderr=end)
        os.close(end)
        os.set_blocking(terminal, False)
        asked = ""

        def finished():
            nonlocal asked
            try:
                while text := os.read(terminal, 4096):
                    asked += text.decode(errors="replace")
            except (BlockingIOError, OSError):
                pass
            if re.search(r"\?( \[.*\])? $", asked):
                note(f"asked: {asked.strip().splitlines()[-1]}")
                os.write(terminal, answer(asked).encode() + b"\n")
                asked = ""
            return process.poll() is not None

        wait_until("celestiad pair ends", finished, 120)
        self.said = asked
        print(asked)
        return process.returncode

    def devices(self):
        """What BlueZ has of each device of the hub's adapter, by path."""
        for path, interfaces in bluez.objects(self.bus).items():
            if path.startswith("/org/bluez/hci0/") and "org.bluez.Device1" in interfaces:
                yield path, interfaces["org.bluez.Device1"]

    def bonds(self):
        return [path for path, device in self.devices() if device["Paired"]]

    def cloud(self, what):
        with urllib.request.urlopen(f"{self.simulator}/{what}") as answer:
            return answer.read()

    def cloud_assets(self):
        """Every file that the cloud has."""
        sessions = json.loads(self.cloud("state"))["sessions"]
        return [asset for session in sessions for asset in session["assets"]]

    def pending_assets(self):
        """How many files the cloud does not have yet, as celestiad says; None while it is away."""
        return self.json("status", status=None).get("queue", {}).get("pending_assets")

    def wait_in_cloud(self, files, seconds=200):
        """Until the cloud has as many files as these and celestiad knows it. Nothing is asked of celestiad but how it
        stands: what stopped has to go on by itself."""
        wait_until("the cloud has every file", lambda: len(self.cloud_assets()) >= len(files), seconds, every=0.5)
        wait_until("and celestiad knows it", lambda: self.pending_assets() == 0, every=0.5)

    def fault(self, **fault):
        """Installs a fault in the cloud; simulators/README.md lists them."""
        self.control("POST", "faults", [fault])

    def heal(self):
        self.control("DELETE", "faults")

    def control(self, method, what, body=None):
        data = None if body is None else json.dumps(body).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.simulator}/{what}", data, method=method)).close()

    def expect_in_cloud(self, files, seconds=200):
        """Every file comes to the cloud without a nudge, byte for byte, and once, by requests that keep the contract."""
        self.wait_in_cloud(files, seconds)
        assets = self.cloud_assets()
        found = {asset["fileName"]: asset["sha256"].lower() for asset in assets}
        expect_equal("the cloud's files", sorted(files), sorted(found))
        expect_equal("each of them once", len(files), len(assets))
        for name, data in files.items():
            expect_equal(f"{name}: the digest", hashlib.sha256(data).hexdigest(), found[name])
            expect(f"{name}: the bytes", self.cloud(f"assets/{found[name]}") == data)
        expect_equal("requests that break the contract", [], json.loads(self.cloud("violations"))["violations"])

    def recorder(self, serial="CEL-0001"):
        return self.json("device", serial)

    def expect_plane(self, plane, serial="CEL-0001"):
        """`coc` or `notification` is what carried the bytes of this link."""
        expect_equal("the data plane", plane, self.recorder(serial).get("data_plane"))


def install():
    """Puts in place what the package does, once in a boot."""
    call_shell("install_celestiad")


def install_for_operator():
    install()
    add_user(OPERATOR, "celestiad")


def uninstall():
    """Makes this a machine on which celestiad never was."""
    call_shell("uninstall_celestiad")


def call_shell(function):
    """Calls a function of scripts/vm/guest/install-celestiad."""
    subprocess.run(["bash", "-c", f". {PROJECT}/scripts/vm/guest/install-celestiad && {function}"], check=True)


def packages(*kinds):
    """The Debian package that was built (`celestiad`), the same as a newer version (`newer`), and that with another
    configuration file (`newer-settings`)."""
    folder = Path(PROJECT, ".build/package")
    return [path for kind in kinds or ["celestiad", "newer"] for path in folder.glob(f"{kind}_*_amd64.deb")]


def command_line(user, *arguments):
    """`celestiad …` by a user of the machine, with nothing of root's but the terminal."""
    return as_user(user, "celestiad", *map(str, arguments))


def as_user(user, *command, groups="--init-groups"):
    """A command line by a user of the machine, as after a new login; `--clear-groups`: as one who logged in before being made
    a member of any group."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", groups, "--", *command]


def add_user(name, *groups):
    """A user of the machine, made once in a boot."""
    if subprocess.run(["id", "--user", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        subprocess.run(["useradd", "--no-create-home", "--user-group", name], check=True)
    for group in groups:
        subprocess.run(["usermod", "--append", "--groups", group, name], check=True)


def systemctl(*arguments):
    subprocess.run(["systemctl", *arguments], check=True)


def override(text):
    """A drop-in for the unit, until the next scenario."""
    folder = Path("/run/systemd/system/celestiad.service.d")
    folder.mkdir(parents=True)
    (folder / "scenario.conf").write_text(text)
    systemctl("daemon-reload")


def unit(name, of="celestiad.service"):
    """A property of the service, as systemd sees it."""
    show = ["systemctl", "show", "--value", "--property", name, of]
    return subprocess.run(show, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def entries(*matches):
    """The service's entries in the journal since this scenario began, with every field."""
    show = ["journalctl", "--unit", "celestiad.service", "--since", f"@{BEGAN}", "--output", "json", "--no-pager", *matches]
    lines = subprocess.run(show, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    return [json.loads(line) for line in lines]


def message_ids():
    """The id of each kind of event, as docs/logging.md has them."""
    rows = re.findall(r"^\| (\w+) \|.*\| `(\w{32})` \|$", Path(PROJECT, "docs/logging.md").read_text(), re.MULTILINE)
    return dict(rows)


def journal():
    """What the service has said in this boot."""
    show = ["journalctl", "--unit", "celestiad.service", "--output", "short-monotonic", "--no-pager"]
    return subprocess.run(show, text=True, stdout=subprocess.PIPE).stdout
