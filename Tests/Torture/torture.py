"""./torture: kills, cuts the power of, and fails the disk of an unmodified celestiad, and looks after each whether
anything was lost, doubled or claimed (oracle.py). Every figure that it prints is counted; a failure prints the seed."""
import argparse
import collections
import random
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import faults  # noqa: E402
from disk import Disk  # noqa: E402
from oracle import Broken, Oracle  # noqa: E402
from rig import Lab, Rig  # noqa: E402

BATCH = 25


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
        self.typical = {point: count for point, count in self.faults.passed().items() if point in faults.POINTS}

    def strike(self, actions, at_random):
        """One start of the daemon that ends by the fault. Returns the point, or None when it was not met."""
        self.work()
        fault = None
        if self.random.random() >= at_random:
            point = self.random.choice(sorted(self.typical))
            possible = [action for action in actions if action != "short" or point.startswith("write/")]
            fault = (point, self.random.randint(1, self.typical[point]), self.random.choice(possible))
        daemon = self.rig.start(self.faults.environment(fault))
        if not fault:
            time.sleep(self.random.uniform(0.02, 0.6))
            self.rig.stop(daemon)
            return "any moment"
        met = self.rig.run(daemon)
        self.rig.stop(daemon)
        return f"{fault[0]} {fault[2]}" if met or self.faults.struck() else None

    def work(self):
        """Gives the daemon something to do."""
        if self.random.random() < 0.5:
            self.rig.record(small=self.random.randint(1, 3), chunked=self.random.random() < 0.15)
            self.rig.rescan()
        if self.random.random() < 0.3:
            self.rig.cloud("expire-tokens")

    def campaign(self, count, actions, at_random=0.0):
        done = 0
        while done < count:
            point = self.strike(actions, at_random)
            self.disk.settle()
            self.oracle.check_queue(self.rig.deleted_objects())
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
        daemon = self.rig.start({})
        self.rig.finish(daemon)
        self.rig.stop(daemon)
        self.oracle.check_queue(self.rig.deleted_objects())
        self.oracle.check_cloud(
            self.rig.files, self.rig.lab.simulated("state"), self.rig.lab.simulated("violations")["violations"])


CAMPAIGNS = {
    "kills": (["kill-before", "kill-after"], 0.2, "killed by SIGKILL"),
    "cuts": (["cut-before", "cut-after"], 0.0, "cut off from power"),
    "errors": (["EIO", "ENOSPC", "short"], 0.0, "met an error of the disk"),
}


def run(name, count, seed, binaries):
    actions, at_random, what = CAMPAIGNS[name]
    started = time.monotonic()
    print(f"{count} times {what}, seed {seed}", flush=True)
    with Lab(binaries) as lab, Disk(f"{lab.path}/disk", needed=name == "cuts") as disk:
        if disk.reason:
            print(f"  skipped: {disk.reason}")
            return
        rig = Rig(lab, disk.path / "state", seed)
        oracle = Oracle(disk.path / "state")
        torture = Torture(rig, oracle, faults.build(lab.path), disk, seed)
        try:
            rig.prepare()
            torture.learn()
            torture.campaign(count, actions, at_random)
        except (Broken, ChildProcessError, TimeoutError, subprocess.CalledProcessError) as failure:
            print(f"FAILED with {type(failure).__name__} after {sum(torture.strikes.values())}: {failure}")
            print(Path(f"{lab.path}/daemon.log").read_text()[-4000:])
            sys.exit(f"repeat it with: ./torture --{name} {count} --seed {seed}")
    print(f"  nothing lost, doubled or claimed: {len(rig.files)} files, {time.monotonic() - started:.0f} s")
    for point, times in sorted(torture.strikes.items()):
        print(f"  {times:5} {point}")


def main():
    parser = argparse.ArgumentParser(prog="./torture", description=__doc__)
    for name, (_, _, what) in CAMPAIGNS.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{what}, N times")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--binaries", default=".build/release", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    counts = {name: getattr(arguments, name) for name in CAMPAIGNS}
    if not any(counts.values()):
        counts = {"kills": 500, "cuts": 100, "errors": 100}
    for name, count in counts.items():
        if count:
            run(name, count, arguments.seed, arguments.binaries)


main()
