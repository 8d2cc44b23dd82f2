"""The whole cloud: options, clock, accounts, library, faults and journal in one place, and its folder on disk."""

import fcntl
import itertools
import os
import pickle
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .accounts import Accounts
from .faults import Faults
from .journal import Journal
from .library import Library
from .variety import Clock, Variety

MARKER = ".celestia-cloud"
GIB = 1 << 30


@dataclass
class Options:
    """What the command line sets."""

    users: list[tuple[str, str]] = field(default_factory=list)
    token_lifetime: float = 3600.0
    upload_lifetime: float = 86400.0
    quota: int = 64 * GIB
    chunk_size: int = GIB
    success_code: int = 0
    seed: int = 1
    clock_skew: float = 0.0


class Folder:
    """The bytes on disk: `assets/<sha256>`, `uploads/<id>/<chunk>`, unfinished bodies in `spool/`, and `state` if kept."""

    def __init__(self, path: Path | None, keeps: bool = False):
        self.keeps = keeps
        self._is_temporary = path is None
        self.path = path or Path(tempfile.mkdtemp(prefix="celestia-cloud-"))
        self._numbers = itertools.count()
        self.path.mkdir(parents=True, exist_ok=True)
        if any(self.path.iterdir()) and not (self.path / MARKER).exists():
            raise OSError(f"{self.path} is neither empty nor a folder of an earlier celestia-cloud")
        self._lock = open(self.path / MARKER, "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{self.path} is in use by another celestia-cloud") from None
        if not (keeps and self.state.exists()):
            self.clear()

    @property
    def assets(self) -> Path:
        return self.path / "assets"

    @property
    def uploads(self) -> Path:
        return self.path / "uploads"

    @property
    def state(self) -> Path:
        """What gives the bytes a meaning, as of the last operation that was done."""
        return self.path / "state"

    def spool_path(self) -> Path:
        """A new name for a body that is being received."""
        return self.path / "spool" / str(next(self._numbers))

    def clear(self) -> None:
        """Forgets everything."""
        self.state.unlink(missing_ok=True)
        for name in ("assets", "uploads", "spool"):
            shutil.rmtree(self.path / name, ignore_errors=True)
            (self.path / name).mkdir()

    def close(self) -> None:
        """A temporary folder goes, a named one stays for its owner to look at."""
        self._lock.close()
        if self._is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)


class Cloud:
    """All state of the simulator."""

    def __init__(self, options: Options, folder: Folder):
        self.options = options
        self.folder = folder
        self._start()
        if folder.keeps and folder.state.exists():
            self.clock, self.variety, self.accounts, self.library = pickle.loads(folder.state.read_bytes())

    def reset(self) -> None:
        """As after a start: only the users of the command line exist."""
        self.folder.clear()
        self._start()

    def keep(self) -> None:
        """Called after each operation, before it is answered: a cloud that is killed forgets nothing that it has said."""
        if not self.folder.keeps:
            return
        new = self.folder.state.with_suffix(".new")
        new.write_bytes(pickle.dumps((self.clock, self.variety, self.accounts, self.library)))
        os.replace(new, self.folder.state)

    def _start(self) -> None:
        self.clock = Clock(self.options.clock_skew)
        self.variety = Variety(self.options.seed)
        self.accounts = Accounts(self.clock, self.options.token_lifetime)
        self.library = Library(self.clock, self.options.quota, self.options.upload_lifetime)
        self.journal = Journal()
        self.faults = Faults()
        for name, password in self.options.users:
            email = name if "@" in name else None
            self.accounts.register(name.split("@")[0], password, email, None)
