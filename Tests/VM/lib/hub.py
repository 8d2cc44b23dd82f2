"""A hub on hci0: the simulated cloud on this machine, celestiad as the package installs it, and its command line."""

import atexit
import hashlib
import json
import os
import pty
import re
import subprocess
import sys
import urllib.request

import dbus

import bluez
import pulse
from scenario import expect, expect_equal, fail, note, wait_until

PROJECT = "/vm/project"
PASSWORD = "countess-of-lovelace"


class Hub:
    """celestiad with hci0, logged in to a cloud of its own. hci1 is heard as on the air."""

    def __init__(self, directory, **environment):
        self.directory, self.bus = directory, dbus.SystemBus()
        path = wait_until("hci0 is on", lambda: bluez.adapter(self.bus, "hci0"))
        adapter = bluez.properties(self.bus, path, "org.bluez.Adapter1")["Address"]
        install = f". {PROJECT}/scripts/vm/guest/install-celestiad && install_celestiad"
        subprocess.run(["bash", "-c", install], check=True)
        self.start("cloud", f"{PROJECT}/simulators/cloud/celestia-cloud", "--user", f"ada:{PASSWORD}")
        api = wait_until("the cloud is there", lambda: self.output("cloud").partition("ready ")[2].strip())
        self.simulator = api.removesuffix("/celestia-trace/v1") + "/_sim"
        self.environment = dict(
            os.environ, CELESTIAD_CLOUD_URL=api, CELESTIAD_ADAPTER=str(adapter),
            CELESTIAD_STATE_DIRECTORY=str(directory / "state"), CELESTIAD_LOG_LEVEL="debug",
            # The guest has little memory, and its disk is memory.
            CELESTIAD_QUEUE_RESERVED_MIB="16", CELESTIAD_QUEUE_RESERVED_PERCENT="0", **environment)
        self.daemon = self.start("daemon", "celestiad", "run")
        wait_until("celestiad is ready", lambda: "ready" in self.output("daemon") or self.daemon.poll() is not None)
        expect("it runs", self.daemon.poll() is None)
        self.start("pulse", sys.executable, pulse.__file__, "hci1")
        atexit.register(self.show_logs)
        (directory / "password").write_text(PASSWORD + "\n")
        self.celestiad("login", "ada", "--password-file", directory / "password")

    def start(self, name, *command):
        """Starts a process; what it says is in a file of that name."""
        environment = getattr(self, "environment", os.environ)
        return subprocess.Popen(
            command, env=environment, stdout=(self.directory / name).open("w"), stderr=subprocess.STDOUT)

    def show_logs(self):
        for name in ("recorder", "daemon", "pulse"):
            print(f"--- {name}", self.output(name), sep="\n")

    def output(self, name):
        return (self.directory / name).read_text()

    def celestiad(self, *arguments, status=0, timeout=300):
        """Runs the command line and returns what it printed; another exit status fails the scenario."""
        done = subprocess.run(
            ["celestiad", *arguments], env=self.environment, text=True, stdout=subprocess.PIPE, timeout=timeout)
        note(f"celestiad {' '.join(map(str, arguments))}: {done.returncode}")
        if status is not None and done.returncode != status:
            print(done.stdout)
            fail(f"exit status {status}")
        return done.stdout

    def sync(self):
        """Asks for a sync until everything is in the cloud: one that meets a fault ends before the next try."""
        wait_until("everything is in the cloud", lambda: self.status("sync", "--wait", "60") == 0, 200)

    def status(self, *arguments):
        """The exit status of a command line."""
        return subprocess.run(["celestiad", *arguments], env=self.environment).returncode

    def json(self, *arguments):
        return json.loads(self.celestiad(*arguments, "--json"))

    def pair(self, address, answer, *arguments):
        """Pairs as a person does on a terminal: `answer` gets what was asked and returns what is typed. Returns the exit
        status; `said` is then what was written after the last answer."""
        terminal, end = pty.openpty()
        process = subprocess.Popen(
            ["celestiad", "pair", "--device", address, *arguments], env=self.environment, stdin=end, stdout=end, stderr=end)
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

    def expect_in_cloud(self, files):
        """Every file is in the cloud, byte for byte, and once."""
        sessions = json.loads(self.cloud("state"))["sessions"]
        found = {asset["fileName"]: asset["sha256"].lower() for session in sessions for asset in session["assets"]}
        expect_equal("the cloud's files", sorted(files), sorted(found))
        count = sum(len(session["assets"]) for session in sessions)
        expect_equal("each of them once", len(files), count)
        for name, data in files.items():
            expect_equal(f"{name}: the digest", hashlib.sha256(data).hexdigest(), found[name])
            expect(f"{name}: the bytes", self.cloud(f"assets/{found[name]}") == data)
