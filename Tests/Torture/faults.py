"""The faults at system calls of faults.c: builds the library, passes what it is to do, reads what it counted."""
import struct
import subprocess
from pathlib import Path

SLOT = struct.Struct("=32sQQ")
SLOTS = 128
TEXT = 1024

# Where a crash can come between two steps of the order of durability, and in requests.
POINTS = [
    "create/part", "write/part", "fdatasync/part", "fsync/part", "ftruncate/part", "rename/stored", "fsync/directory",
    "create/sidecar", "write/sidecar", "fsync/sidecar", "rename/sidecar", "write/session", "fsync/session", "rename/session",
    "mkdir/stored", "write/wal", "fsync/wal", "fdatasync/wal", "write/db", "fsync/db", "fdatasync/db", "unlink/wal",
    "create/credentials", "write/credentials", "fsync/credentials", "rename/credentials", "unlink/stored", "unlink/sidecar",
    "fallocate/other", "send/http", "recv/http",
]


def build(folder):
    """Compiles faults.c; returns the library's path."""
    library = Path(folder) / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library, source, "-ldl"], check=True)
    return library


class Faults:
    """One process's counts, and the fault that it is to meet."""

    def __init__(self, library, folder, root):
        self.report = Path(folder) / "report"
        self.library, self.root = library, root

    def environment(self, fault=None):
        """For the next process; `fault` is a point, how often it is passed before, and an action."""
        self.report.write_bytes(bytes(SLOT.size * SLOTS + 2 * TEXT))
        environment = {
            "LD_PRELOAD": str(self.library), "TORTURE_ROOT": str(self.root), "TORTURE_REPORT": str(self.report)}
        if fault:
            environment["TORTURE_FAULT"] = "{} {} {}".format(*fault)
        return environment

    def passed(self):
        """How often each point was passed."""
        return {name: passed for name, passed, _ in self._slots()}

    def struck(self):
        """Whether the fault was met."""
        return any(struck for _, _, struck in self._slots())

    def disorder(self):
        """What came in the wrong order."""
        return self._text(0)

    def peers(self):
        """The addresses and ports that were connected to."""
        return self._text(1)

    def _text(self, number):
        start = SLOT.size * SLOTS + number * TEXT
        return self.report.read_bytes()[start:start + TEXT].rstrip(b"\0").decode(errors="replace").splitlines()

    def _slots(self):
        for name, passed, struck in SLOT.iter_unpack(self.report.read_bytes()[:SLOT.size * SLOTS]):
            if name := name.rstrip(b"\0").decode():
                yield name, passed, struck
