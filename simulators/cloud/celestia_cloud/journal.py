"""What the clients did: requests, counts by operation, breaches of the contract, and advice."""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timezone

MAX_ENTRIES = 5000
# Nobody may be reading what is printed, and a pipe is soon full.
MAX_PRINTED = 50


@dataclass
class Counts:
    """The traffic of one operation."""

    requests: int = 0
    body_bytes: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict:
        return {"requests": self.requests, "bodyBytes": self.body_bytes, "outcomes": self.outcomes}


class Journal:
    """Grows until reset; the oldest entries give way after MAX_ENTRIES, the counts do not."""

    def __init__(self) -> None:
        self.counts: dict[str, Counts] = {}
        self.requests: deque[dict] = deque(maxlen=MAX_ENTRIES)
        self.violations: deque[dict] = deque(maxlen=MAX_ENTRIES)
        self.advice: deque[dict] = deque(maxlen=MAX_ENTRIES)

    def record_request(self, entry: dict) -> None:
        """Entry: operation, method, path, connection, status or outcome, bodyBytes, fault."""
        counts = self.counts.setdefault(entry["operation"], Counts())
        counts.requests += 1
        counts.body_bytes += entry["bodyBytes"]
        outcome = str(entry["outcome"])
        counts.outcomes[outcome] = counts.outcomes.get(outcome, 0) + 1
        self.requests.append({"at": _now(), **entry})

    def violation(self, operation: str, path: str, rule: str, detail: str, status: int) -> None:
        """A breach of the contract, refused; whoever started the simulator sees it on standard output."""
        if len(self.violations) < MAX_PRINTED:
            print(f"violation {operation}: {rule} {detail[:200]!r}", flush=True)
        self.violations.append(_finding(operation, path, rule, detail) | {"status": status})

    def advise(self, operation: str, path: str, rule: str, detail: str) -> None:
        """Allowed by the contract, but a sign of a weak client."""
        self.advice.append(_finding(operation, path, rule, detail))


def _finding(operation: str, path: str, rule: str, detail: str) -> dict:
    return {"at": _now(), "operation": operation, "path": path, "rule": rule, "detail": detail}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
