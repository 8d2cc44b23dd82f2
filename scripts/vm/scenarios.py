"""The scenarios of Tests/VM/scenarios: executable files whose head says what they need of the machine.

A line `# vm: KEY=VALUE ...` within the first ten may set
    timeout   seconds the scenario may take in one boot (120)
    takes     seconds that it took on an idle machine with its boots and its reset, by which the work is shared out (20)
    boot      fresh: a machine of its own; shared: one after another with others (shared)
    disk      size of an empty disk, /dev/vda in the guest, that outlives a power cut (none); implies boot=fresh
    needs     products of the package to build before, with commas between
    bench     yes: measures, and is run with --bench or by its name only
and the first other comment line says what the scenario shows.
"""

import fnmatch
import os
from dataclasses import dataclass
from pathlib import Path

from machine import PROJECT

DIRECTORY = PROJECT / "Tests/VM/scenarios"
UNITS = {"M": 1 << 20, "G": 1 << 30}


class ScenarioError(Exception):
    """A scenario file that cannot be understood, or a name that nothing has."""


@dataclass(frozen=True)
class Scenario:
    name: str
    summary: str
    timeout: int = 120
    takes: int = 20
    fresh: bool = False
    disk: int = 0
    needs: tuple = ()
    bench: bool = False


def read(path: Path) -> Scenario:
    """Reads the head of one scenario file."""
    if not os.access(path, os.X_OK):
        raise ScenarioError(f"{path} is not executable")
    summary, fields = "", {}
    for line in path.read_text().splitlines()[1:10]:
        if line.startswith("# vm:"):
            fields.update(word.partition("=")[::2] for word in line[5:].split())
        elif line.startswith("# ") and not summary:
            summary = line[2:]
    unknown = set(fields) - {"timeout", "takes", "boot", "disk", "needs", "bench"}
    if unknown:
        raise ScenarioError(f"{path}: unknown in '# vm:': {', '.join(sorted(unknown))}")
    disk = fields.get("disk", "")
    return Scenario(
        name=path.name, summary=summary, timeout=int(fields.get("timeout", 120)),
        takes=int(fields.get("takes", 20)),
        fresh=fields.get("boot") == "fresh" or bool(disk),
        disk=int(disk[:-1]) * UNITS[disk[-1]] if disk else 0,
        needs=tuple(filter(None, fields.get("needs", "").split(","))), bench=fields.get("bench") == "yes")


def select(patterns, bench=False):
    """All scenarios, or those that measure, or those that the patterns name; a pattern that names none is an error."""
    every = [read(path) for path in sorted(DIRECTORY.iterdir()) if path.is_file()]
    for pattern in patterns:
        if not any(fnmatch.fnmatch(scenario.name, pattern) for scenario in every):
            raise ScenarioError(f"no scenario is named {pattern}; ./vm-test --list names them")
    if not patterns:
        return [s for s in every if s.bench == bench]
    return [s for s in every if any(fnmatch.fnmatch(s.name, p) for p in patterns)]
