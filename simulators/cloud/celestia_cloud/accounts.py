"""Users and their tokens. A login opens a family of tokens; a refresh rotates within it; logout ends it."""

import base64
import hashlib
import hmac
import json
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .replies import ApiError
from .variety import Clock


@dataclass
class User:
    """A person with devices and sessions."""

    username: str
    password: str
    registered_at: datetime
    email: str | None = None
    phone_number: str | None = None
    avatar_url: str | None = None
    updated_at: datetime | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    checkpoints: list[datetime] = field(default_factory=list)
    generation: int = 0
    logins: int = 0
    refreshes: int = 0
    # The newest access token that was ever sent.
    used_generation: int = 0

    def is_called(self, identifier: str) -> bool:
        return identifier in (self.username, self.email, self.phone_number)


@dataclass
class Family:
    """The tokens of one login."""

    user: User
    is_open: bool = True


@dataclass
class AccessToken:
    """A short-lived bearer token."""

    family: Family
    expires_at: datetime
    generation: int
    uses: int = 0


@dataclass
class RefreshToken:
    """Good for one refresh."""

    family: Family
    is_spent: bool = False


@dataclass
class Tokens:
    """A fresh pair."""

    user: User
    access: str
    refresh: str
    expires_at: datetime


class Accounts:
    """Every user and every token that was ever given out."""

    def __init__(self, clock: Clock, lifetime: float):
        self.lifetime = lifetime
        self.users: list[User] = []
        self._clock = clock
        self._families: list[Family] = []
        self._access: dict[str, AccessToken] = {}
        self._refresh: dict[str, RefreshToken] = {}
        self._secret = secrets.token_bytes(32)

    def register(self, username: str, password: str, email: str | None, phone_number: str | None) -> User:
        """Raises ApiError 409 for a name, address or number that is taken."""
        for name in filter(None, (username, email, phone_number)):
            self.require_free(name, None)
        user = User(username, password, self._clock.now(), email, phone_number)
        self.users.append(user)
        return user

    def require_free(self, identifier: str, owner: User | None) -> None:
        """Raises ApiError 409 when another user has the name, address or number."""
        if any(user.is_called(identifier) for user in self.users if user is not owner):
            raise ApiError(409, "already registered")

    def login(self, identifier: str, password: str) -> User:
        """Raises ApiError 401."""
        for user in self.users:
            if user.is_called(identifier) and hmac.compare_digest(user.password.encode(), password.encode()):
                return user
        raise ApiError(401, "wrong identifier or password")

    def open_family(self, user: User) -> Tokens:
        """The tokens of a new login."""
        user.logins += 1
        self._families.append(Family(user))
        return self._issue(self._families[-1])

    def refresh(self, text: str) -> Tokens:
        """Rotates; the old refresh token is dead at once, access tokens live until they expire."""
        token = self._refresh.get(text)
        if token is None or token.is_spent or not token.family.is_open:
            raise ApiError(401, "refresh token is not valid")
        token.is_spent = True
        token.family.user.refreshes += 1
        return self._issue(token.family)

    def knows_refresh_token(self, text: str) -> bool:
        return text in self._refresh

    def knows_access_token(self, text: str) -> bool:
        return text in self._access

    def authorize(self, text: str) -> AccessToken:
        """Raises ApiError 401 for a token that is unknown, logged out, or expired."""
        token = self._access.get(text)
        if token is None or not token.family.is_open:
            raise ApiError(401, "access token is not valid")
        token.family.user.used_generation = max(token.family.user.used_generation, token.generation)
        if token.expires_at <= self._clock.now():
            raise ApiError(401, "access token has expired")
        token.uses += 1
        return token

    def close_other_families(self, user: User, kept: Family) -> None:
        """A new password ends every other login."""
        for family in self._families:
            if family.user is user and family is not kept:
                family.is_open = False

    def expire_access_tokens(self, used: int = 0) -> int:
        """Of those that were used so often; gives the number that were alive."""
        now = self._clock.now()
        alive = [
            token
            for token in self._access.values()
            if token.family.is_open and token.expires_at > now and token.uses >= used
        ]
        for token in alive:
            token.expires_at = now
        return len(alive)

    def spend_refresh_tokens(self) -> int:
        """Makes every refresh token dead; gives the number that was alive."""
        alive = [token for token in self._refresh.values() if not token.is_spent and token.family.is_open]
        for token in alive:
            token.is_spent = True
        return len(alive)

    def _issue(self, family: Family) -> Tokens:
        user = family.user
        user.generation += 1
        expires_at = self._clock.now() + timedelta(seconds=self.lifetime)
        access = self._jwt({"sub": user.id, "gen": user.generation, "exp": int(expires_at.timestamp())})
        refresh = secrets.token_urlsafe(32)
        self._access[access] = AccessToken(family, expires_at, user.generation)
        self._refresh[refresh] = RefreshToken(family)
        return Tokens(user, access, refresh, expires_at)

    def _jwt(self, claims: dict) -> str:
        parts = [{"alg": "HS256", "typ": "JWT"}, claims | {"jti": secrets.token_hex(8)}]
        text = ".".join(_base64url(json.dumps(part).encode()) for part in parts)
        return text + "." + _base64url(hmac.digest(self._secret, text.encode(), hashlib.sha256))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
