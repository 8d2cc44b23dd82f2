"""The faults at system calls of faults.c: builds the library, passes what it is to do, reads what it counted."""
import struct
import subprocess
from pathlib import Path

SLOT = struct.Struct("=32sQQ")
SLOTS = 64

# Where a crash can come between two steps of the order of durability, and in requests.
POINTS = [
    "write/part", "fdatasync/part", "fsync/part", "ftruncate/part", "rename/stored", "fsync/directory", "write/sidecar",
    "fsync/sidecar", "rename/sidecar", "write/session", "fsync/session", "rename/session", "mkdir/other", "write/wal",
    "fsync/wal", "fdatasync/wal", "write/db", "fsync/db", "fdatasync/db", "unlink/wal", "write/credentials",
    "fsync/credentials", "rename/credentials", "unlink/stored", "unlink/sidecar", "send/http", "recv/http",
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
        self.counts_file = Path(folder) / "counts"
        self.library, self.root = library, root

    def environment(self, fault=None):
        """For the next process; `fault` is a point, how often it is passed before, and an action."""
        self.counts_file.write_bytes(bytes(SLOT.size * SLOTS))
        environment = {
            "LD_PRELOAD": str(self.library), "TORTURE_ROOT": str(self.root), "TORTURE_COUNTS": str(self.counts_file)}
        if fault:
            environment["TORTURE_FAULT"] = "{} {} {}".format(*fault)
        return environment

    def passed(self):
        """How often each point was passed."""
        return {name: passed for name, passed, _ in self._slots()}

    def struck(self):
        """Whether the fault was met."""
        return any(struck for _, _, struck in self._slots())

    def _slots(self):
        for name, passed, struck in SLOT.iter_unpack(self.counts_file.read_bytes()):
            if name := name.rstrip(b"\0").decode():
                yield name, passed, struck
