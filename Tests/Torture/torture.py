"""./torture: kills, cuts the power of, and fails the disk of an unmodified celestiad, and looks after each whether
anything was lost, doubled or claimed (oracle.py). Every figure that it prints is counted; a failure prints the seed."""
import argparse
import collections
import random
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True
import faults  # noqa: E402
from disk import Disk  # noqa: E402
from oracle import Broken, Oracle  # noqa: E402
from rig import Lab, Rig  # noqa: E402

BATCH = 25
# How the daemon ends when its disk does not work any more: for systemd to start it again.
ORDERLY = range(1, 100)


class Torture:
    """One campaign: strikes until the count is reached, and brings everything to its end after each batch."""

    def __init__(self, rig, oracle, fault_library, disk, seed):
        self.rig, self.oracle, self.disk = rig, oracle, disk
        self.random = random.Random(seed)
        self.faults = faults.Faults(fault_library, rig.lab.path, oracle.state)
        self.strikes = collections.Counter()
        self.typical = {}

    def learn(self):
        """Runs one flow unharmed, to see how often each point is passed."""
        self.rig.record(small=2, chunked=1)
        self.rig.rescan()
        self.rig.cloud("expire-tokens")
        daemon = self.rig.start(self.faults.environment())
        self.rig.finish(daemon)
        self.rig.stop(daemon)
        self.check()
        passed = self.faults.passed()
        self.typical = {point: count for point, count in passed.items() if point in faults.POINTS}
        self.all_events = passed["any"]

    def strike(self, actions, at_any_event):
        """One start of the daemon that ends by the fault. Returns the point, or None when it was not met."""
        if self.random.random() < at_any_event:
            fault = ("any", self.early(self.all_events), self.random.choice(actions))
        else:
            point = self.random.choice(sorted(self.typical))
            possible = [action for action in actions if action != "short" or point.startswith("write/")]
            fault = (point, self.early(self.typical[point]), self.random.choice(possible))
        self.work(refresh="credentials" in fault[0])
        daemon = self.rig.start(self.faults.environment(fault))
        met = self.rig.run(daemon)
        if met and daemon.returncode not in (-9, *ORDERLY):
            raise ChildProcessError(f"the daemon ended with {daemon.returncode} at {fault}")
        self.rig.stop(daemon)
        return f"{fault[0]} {fault[2]}" if met or self.faults.struck() else None

    def early(self, count):
        """One of the first `count`: what there is to do is often less than what was learned."""
        return 1 + int(count * self.random.random() ** 3)

    def work(self, refresh):
        """Gives the daemon something to do."""
        self.rig.record(small=self.random.randint(1, 2), chunked=self.random.random() < 0.1)
        self.rig.rescan()
        if refresh or self.random.random() < 0.3:
            self.rig.cloud("expire-tokens")

    def check(self):
        disorder = self.faults.disorder()
        if disorder:
            raise Broken(f"the order of durability: {disorder}")
        address = urllib.parse.urlsplit(self.rig.lab.api)
        strangers = set(self.faults.peers()) - {f"{address.hostname} {address.port}"}
        if strangers:
            raise Broken(f"connected to {strangers}, which nobody configured")
        self.oracle.check_queue(self.rig.deleted_objects())
        self.oracle.check_tokens(self.rig.tokens())

    def campaign(self, count, actions, at_any_event):
        done = 0
        while done < count:
            point = self.strike(actions, at_any_event)
            self.disk.settle()
            self.check()
            if point is None:
                continue
            done += 1
            self.strikes[point] += 1
            if done % BATCH == 0:
                self.complete()
                print(f"  {done} of {count}", flush=True)
        self.complete()

    def complete(self):
        """Lets the daemon work undisturbed to its end: then everything is in the cloud, once."""
        daemon = self.rig.start(self.faults.environment())
        self.rig.finish(daemon)
        self.rig.stop(daemon)
        self.check()
        self.oracle.check_cloud(
            self.rig.files, self.rig.lab.simulated("state"), self.rig.lab.simulated("violations")["violations"])


# Name: actions, the share of strikes at any event instead of a point chosen first, and the words for it.
CAMPAIGNS = {
    "kills": (["kill-before", "kill-after"], 0.3, "killed by SIGKILL"),
    "cuts": (["cut-before", "cut-after"], 0.3, "cut off from power"),
    "errors": (["EIO", "ENOSPC", "short"], 0.0, "met an error of the disk"),
}
CI = {"kills": 25, "cuts": 8, "errors": 4}
BY_HAND = {"kills": 500, "cuts": 100, "errors": 100}


def run(name, count, seed, binaries):
    actions, at_any_event, what = CAMPAIGNS[name]
    started = time.monotonic()
    print(f"{count} times {what}, seed {seed}", flush=True)
    with Lab(binaries) as lab, Disk(f"{lab.path}/disk", needed=name == "cuts") as disk:
        if disk.reason:
            print(f"  SKIPPED: {disk.reason}")
            return
        rig = Rig(lab, disk.path / "state", seed)
        oracle = Oracle(disk.path / "state")
        torture = Torture(rig, oracle, faults.build(lab.path), disk, seed)
        rig.on_expired = lambda: oracle.check_expired(rig.tokens())
        try:
            rig.prepare()
            torture.learn()
            torture.campaign(count, actions, at_any_event)
        except (Broken, ChildProcessError, TimeoutError, subprocess.CalledProcessError) as failure:
            print(f"FAILED with {type(failure).__name__} after {sum(torture.strikes.values())}: {failure}")
            print(Path(f"{lab.path}/daemon.log").read_text()[-4000:])
            sys.exit(f"repeat it with: ./torture --{name} {count} --seed {seed}")
        refreshes = rig.tokens()["refreshes"]
    print(
        f"  nothing lost, doubled or claimed: {len(rig.files)} files, {refreshes} token refreshes,"
        f" {rig.logins} logins because an answer was lost, {time.monotonic() - started:.0f} s")
    for point, times in sorted(torture.strikes.items()):
        print(f"  {times:5} {point}")


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def main():
    parser = argparse.ArgumentParser(prog="./torture", description=__doc__, allow_abbrev=False)
    for name, (_, _, what) in CAMPAIGNS.items():
        parser.add_argument(f"--{name}", type=positive, metavar="N", help=f"{what}, N times")
    parser.add_argument("--ci", action="store_true", help="what is done for every change, within 90 s")
    parser.add_argument("--seed", type=positive, default=random.SystemRandom().randrange(1, 1 << 31))
    parser.add_argument("--binaries", default=".build/release", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    counts = {name: getattr(arguments, name) for name in CAMPAIGNS}
    if any(counts.values()) and arguments.ci:
        parser.error("--ci says itself how often")
    if not any(counts.values()):
        counts = CI if arguments.ci else BY_HAND
    for name, count in counts.items():
        if count:
            run(name, count, arguments.seed, arguments.binaries)


main()
