"""A file system of its own for the state directory, which can lose its power: ext4 in a file, shut down by its own ioctl
(faults.c) and mounted again, so that its journal is replayed as after a real cut."""
import os
import subprocess
from pathlib import Path

SIZE = 512 << 20


class Disk:
    """Mounted at `path` while the object is entered. When not `needed`, a plain directory."""

    def __init__(self, path, needed):
        self.path, self.image = Path(path), f"{path}.img"
        self.is_mounted = False
        self.reason = None
        self.needed = needed

    def __enter__(self):
        self.path.mkdir()
        if self.needed:
            if os.geteuid() != 0:
                self.reason = "only root can mount a file system and shut it down"
            elif not self._make():
                self.reason = "this machine cannot mount a file system from a file (loop devices)"
        return self

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", self.path], check=True)

    def _make(self):
        with open(self.image, "wb") as image:
            image.truncate(SIZE)
        subprocess.run(["mkfs.ext4", "-q", self.image], check=True)
        self.is_mounted = self._mount()
        return self.is_mounted

    def _mount(self):
        return subprocess.run(["mount", "-o", "loop", self.image, self.path], capture_output=True).returncode == 0

    def settle(self):
        """After a strike: what was not flushed before a cut is gone for good."""
        if self.is_mounted:
            subprocess.run(["umount", self.path], check=True)
            subprocess.run(["mount", "-o", "loop", self.image, self.path], check=True)
