"""The clock of the cloud, and the freedom the contract leaves to a server: each legal shape of an answer occurs."""

import random
import time
from datetime import datetime, timedelta, timezone

EAST = timezone(timedelta(hours=8))


class Clock:
    """Wall time plus a skew in seconds, as a hub with another idea of the time would see it."""

    def __init__(self, skew: float = 0.0):
        self.skew = skew

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time() + self.skew, timezone.utc)


class Variety:
    """Chooses among legal spellings with a seeded generator: fractions or none, Z or an offset, null or absent."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def time(self, moment: datetime) -> str:
        """RFC 3339 as Go prints it: with the zeros of the fraction stripped, and sometimes none or a zone."""
        moment = moment.astimezone(EAST if self._random.random() < 0.125 else timezone.utc)
        if self._random.random() < 0.5:
            text = moment.replace(tzinfo=None, microsecond=0).isoformat()
        else:
            digits = f"{moment.microsecond:06d}".rstrip("0")
            text = moment.replace(tzinfo=None, microsecond=0).isoformat() + (f".{digits}" if digits else "")
        return text + ("Z" if moment.tzinfo is timezone.utc else "+08:00")

    def hex(self, digits: str) -> str:
        """The contract allows both cases."""
        return digits.upper() if self._random.random() < 0.25 else digits

    def null_or_absent(self, fields: dict, name: str, value: object) -> None:
        """Sets a nullable field; a missing value is shown as null or left out."""
        if value is not None or self._random.random() < 0.5:
            fields[name] = value

    def coin(self) -> bool:
        return self._random.random() < 0.5
