"""Faults on command: which request they strike, and what they do to it."""

import random
from dataclasses import dataclass, field

ANSWER = {"headers", "commit", "early"}
OPTIONS: dict[str, set[str]] = {
    "status": {"status", "code", "message", "data", "body"} | ANSWER,
    "html": {"status"} | ANSWER,
    "not_json": {"status"} | ANSWER,
    "delay_before": {"ms"},
    "delay_after": {"ms"},
    "stall": {"ms", "commit", "early"},
    "drop_before_commit": {"reset"},
    "drop_after_commit": {"reset"},
    "reset_at": {"bytes"},
    "wrong_sha256": {"persist"},
    "chunk_size": {"bytes"},
    "expire_upload": set(),
    "expire_token": {"used"},
    "truncated_body": {"bytes", "reset"},
    "trickle": {"ms"},
    "short_count": set(),
}
DELAYS = ("delay_before", "delay_after")
RANDOM_ACTIONS = [
    "status", "html", "not_json", "delay_before", "delay_after",
    "drop_before_commit", "drop_after_commit", "reset_at", "truncated_body",
]  # fmt: skip
LOGIN_ROUTES = {"register", "login", "refreshAccessToken", "logout"}
RANDOM_STATUSES = [408, 429, 500, 502, 503, 504]
# What only random faults have names for: answers that are wrong in this moment, whatever the API knows.
RANDOM_REFUSALS = {"refusal": [401, 404, 409, 410, 423], "gateway_limit": [413], "over_quota": [413]}
# A rotation leaves no old token that is good: where its answer is lost, nobody but the user can help.
HARMLESS_TO_A_ROTATION = [
    "status", "html", "delay_before", "delay_after", "drop_before_commit", "reset_at", "stall",
]  # fmt: skip


class BadFault(Exception):
    """The control plane was given a fault that cannot be."""


@dataclass
class Fault:
    """One fault. Requests are counted from its installation, over those of its route alone."""

    route: str
    action: str
    options: dict
    nth: int | None = None
    every: int | None = None
    times: int | None = None
    seen: int = 0
    fired: int = 0

    def strikes(self) -> bool:
        """Counts one request of the route and says whether it is one to strike."""
        self.seen += 1
        if self.times is not None and self.fired >= self.times:
            return False
        if self.nth is not None:
            return self.seen >= self.nth
        return self.every is None or self.seen % self.every == 0

    def as_json(self) -> dict:
        values = {"route": self.route, "action": self.action, "seen": self.seen, "fired": self.fired}
        for name in ("nth", "every", "times"):
            if getattr(self, name) is not None:
                values[name] = getattr(self, name)
        return values | self.options


@dataclass
class Plan:
    """What strikes one request: delays in seconds, and at most one other action."""

    delay_before: float = 0.0
    delay_after: float = 0.0
    action: str | None = None
    options: dict = field(default_factory=dict)

    def names(self) -> list[str]:
        delays = [name for name in DELAYS if getattr(self, name)]
        return delays + ([self.action] if self.action else [])

    def has(self, action: str) -> bool:
        return self.action == action

    @property
    def commits(self) -> bool:
        """Whether the operation is done before the fault shows itself."""
        default = self.action in ("drop_after_commit", "truncated_body", "trickle")
        return bool(self.options.get("commit", default))


class Faults:
    """The installed faults, and the random ones."""

    def __init__(self) -> None:
        self.installed: list[Fault] = []
        self.random: RandomFaults | None = None

    def plan(self, route: str, body_length: int) -> Plan:
        """Delays add up; of the other actions the first in order of installation applies."""
        plan = Plan()
        for fault in self.installed:
            if fault.route not in ("*", route) or not fault.strikes():
                continue
            if fault.action in DELAYS:
                setattr(plan, fault.action, getattr(plan, fault.action) + fault.options["ms"] / 1000)
            elif plan.action is None:
                plan.action, plan.options = fault.action, fault.options
            else:
                continue
            fault.fired += 1
        if plan.action is None and self.random:
            self.random.strike(plan, route, body_length)
        return plan

    def clear(self) -> None:
        self.installed.clear()
        self.random = None

    def as_json(self) -> dict:
        return {
            "faults": [fault.as_json() for fault in self.installed],
            "random": self.random.as_json() if self.random else None,
        }


class RandomFaults:
    """Strikes one request in `one_in`, by a seeded generator."""

    def __init__(self, seed: int, one_in: int, actions: list[str], routes: list[str] | None):
        self.seed = seed
        self.one_in = one_in
        self.actions = actions
        self.routes = routes
        self.fired = 0
        self.struck: dict[str, int] = {}
        self._random = random.Random(seed)

    def strike(self, plan: Plan, route: str, body_length: int) -> None:
        if route in LOGIN_ROUTES if self.routes is None else route not in self.routes:
            return
        if self._random.randrange(self.one_in):
            return
        self.fired += 1
        actions = self.actions
        if route == "refreshAccessToken":
            actions = [action for action in actions if action in HARMLESS_TO_A_ROTATION] or ["drop_before_commit"]
        action = self._random.choice(actions)
        self.struck[action] = self.struck.get(action, 0) + 1
        if action in DELAYS:
            setattr(plan, action, self._random.uniform(0.001, 0.05))
            return
        options = self._options(action, body_length)
        if route == "refreshAccessToken":
            options.pop("commit", None)
        plan.action = {"refusal": "status", "gateway_limit": "html", "over_quota": "status"}.get(action, action)
        plan.options = options

    def as_json(self) -> dict:
        return {
            "seed": self.seed,
            "oneIn": self.one_in,
            "actions": self.actions,
            "routes": self.routes,
            "fired": self.fired,
            "struck": self.struck,
        }

    def _options(self, action: str, body_length: int) -> dict:
        if action == "status":
            status = self._random.choice(RANDOM_STATUSES)
            headers = {"Retry-After": "1"} if status in (429, 503) and self._random.random() < 0.5 else {}
            return {"status": status, "headers": headers, "commit": self._random.random() < 0.5}
        if action in ("html", "not_json"):
            return {"status": self._random.choice([200, 502]), "commit": self._random.random() < 0.5}
        if action in RANDOM_REFUSALS:
            status = self._random.choice(RANDOM_REFUSALS[action])
            quota = {"totalBytes": 10, "usedBytes": 9, "remainingBytes": 1, "requiredBytes": 2}
            return {"status": status, "data": quota} if action == "over_quota" else {"status": status}
        if action == "reset_at":
            return {"bytes": self._random.randrange(body_length + 1)}
        if action == "stall":
            when = self._random.choice(["early", "commit", "neither"])
            return {"ms": self._random.randrange(20, 300)} | ({when: True} if when != "neither" else {})
        if action in ("drop_before_commit", "drop_after_commit", "truncated_body"):
            return {"reset": self._random.random() < 0.5}
        if action == "expire_token":
            # No server lets tokens expire that it has just given out: two of these in a row mean a login that is out.
            return {"used": 8}
        return {"ms": 1} if action == "trickle" else {}


def parse_faults(value: object, routes: set[str]) -> list[Fault]:
    """The body of POST /_sim/faults; raises BadFault and installs nothing when one of them is wrong."""
    if not isinstance(value, list):
        raise BadFault("a JSON list of faults is wanted")
    return [_parse_fault(item, routes) for item in value]


def parse_random(value: object, routes: set[str]) -> RandomFaults:
    """The body of POST /_sim/faults/random."""
    if not isinstance(value, dict) or value.keys() - {"seed", "oneIn", "actions", "routes"}:
        raise BadFault("an object with seed, oneIn, actions and routes is wanted")
    one_in = value.get("oneIn", 5)
    actions = value.get("actions", RANDOM_ACTIONS)
    wanted = value.get("routes")
    if not isinstance(one_in, int) or one_in < 1:
        raise BadFault("oneIn must be an integer from 1")
    known = [*OPTIONS, *RANDOM_REFUSALS]
    if not actions or not isinstance(actions, list) or set(actions) - set(known):
        raise BadFault(f"actions must be some of {', '.join(known)}")
    if wanted is not None and (not isinstance(wanted, list) or set(wanted) - routes):
        raise BadFault(f"routes must be some of {', '.join(sorted(routes))}")
    return RandomFaults(int(value.get("seed", 0)), one_in, actions, wanted)


def _parse_fault(item: object, routes: set[str]) -> Fault:
    if not isinstance(item, dict):
        raise BadFault("a fault is an object")
    values = dict(item)
    route, action = values.pop("route", "*"), values.pop("action", None)
    if route != "*" and route not in routes:
        raise BadFault(f"route {route!r} is none of *, {', '.join(sorted(routes))}")
    if action not in OPTIONS:
        raise BadFault(f"action {action!r} is none of {', '.join(OPTIONS)}")
    nth, every, times = (_positive(values, name) for name in ("nth", "every", "times"))
    always = values.pop("always", False)
    if sum([nth is not None, every is not None, bool(always)]) > 1:
        raise BadFault("nth, every and always exclude each other")
    if not always and every is None:
        nth, times = nth or 1, times or 1
    _check_options(action, values)
    return Fault(route, action, values, nth, every, times)


def _positive(values: dict, name: str) -> int | None:
    value = values.pop(name, None)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise BadFault(f"{name} must be an integer from 1")
    return value


def _check_options(action: str, options: dict) -> None:
    unknown = options.keys() - OPTIONS[action]
    if unknown:
        raise BadFault(f"action {action} has no option {', '.join(sorted(unknown))}")
    for name in ("ms", "bytes", "status", "code", "used"):
        value = options.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise BadFault(f"{name} must be an integer from 0")
    required = {"status": "status", "delay_before": "ms", "delay_after": "ms", "reset_at": "bytes"}.get(action)
    if required and required not in options:
        raise BadFault(f"action {action} needs {required}")
    if options.get("commit") and options.get("early"):
        raise BadFault("early answers do not commit")
