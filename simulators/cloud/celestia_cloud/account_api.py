"""Health, login and the user's own data."""

import re
from urllib.parse import urlsplit

from .accounts import Tokens, User
from .call import Call
from .replies import ApiError, Breach, Reply

EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
PHONE = re.compile(r"\+?[0-9][0-9 ()-]{3,}")


async def get_health(call: Call) -> Reply:
    return Reply("healthy")


async def register(call: Call) -> Reply:
    identifier = call.json["identifier"]
    is_email = EMAIL.fullmatch(identifier)
    if not is_email and not PHONE.fullmatch(identifier):
        raise Breach("identifier", "identifier is neither an email address nor a phone number")
    _advise_login_connection(call)
    user = call.cloud.accounts.register(
        call.json["username"],
        call.json["password"],
        identifier if is_email else None,
        None if is_email else identifier,
    )
    return _tokens_reply(call, call.cloud.accounts.open_family(user))


async def login(call: Call) -> Reply:
    _advise_login_connection(call)
    user = call.cloud.accounts.login(call.json["identifier"], call.json["password"])
    return _tokens_reply(call, call.cloud.accounts.open_family(user))


async def refresh_access_token(call: Call) -> Reply:
    _advise_login_connection(call)
    text = call.json["refreshToken"]
    if not call.cloud.accounts.knows_refresh_token(text):
        raise Breach("unknown-token", "a refresh token that this server never gave out", 401)
    try:
        tokens = call.cloud.accounts.refresh(text)
    except ApiError:
        call.advise("dead-refresh-token", "a refresh token was used again after its rotation or logout")
        raise
    return _tokens_reply(call, tokens)


async def logout(call: Call) -> Reply:
    call.token.family.is_open = False
    return _empty(call)


async def get_profile(call: Call) -> Reply:
    return Reply(user_json(call, call.token.family.user))


async def update_profile(call: Call) -> Reply:
    """An absent member stays, null clears what can be absent."""
    user, changes, accounts = call.token.family.user, call.json, call.cloud.accounts
    username = changes.get("username")
    if username is not None and len(username) < 2:
        raise Breach("schema", "body.username is shorter than 2")
    if changes.get("avatarURL") is not None and not urlsplit(changes["avatarURL"]).scheme:
        raise Breach("schema", "body.avatarURL is not a URI")
    for name in ("username", "email", "phoneNumber"):
        if changes.get(name):
            accounts.require_free(changes[name], user)
    user.username = username or user.username
    user.email = changes.get("email", user.email) or None
    user.phone_number = changes.get("phoneNumber", user.phone_number) or None
    user.avatar_url = changes.get("avatarURL", user.avatar_url) or None
    user.updated_at = call.cloud.clock.now()
    return Reply(user_json(call, user))


async def change_password(call: Call) -> Reply:
    user = call.token.family.user
    if call.json["oldPassword"] != user.password:
        raise ApiError(400, "the old password is wrong")
    user.password = call.json["newPassword"]
    call.cloud.accounts.close_other_families(user, call.token.family)
    return _empty(call)


def user_json(call: Call, user: User) -> dict:
    values = {
        "id": user.id,
        "username": user.username,
        "email": user.email,
        "phoneNumber": user.phone_number,
        "avatarURL": user.avatar_url,
        "registeredAt": call.cloud.variety.time(user.registered_at),
    }
    if user.updated_at:
        values["updatedAt"] = call.cloud.variety.time(user.updated_at)
    return {name: value for name, value in values.items() if value is not None}


def _tokens_reply(call: Call, tokens: Tokens) -> Reply:
    return Reply(
        {
            "user": user_json(call, tokens.user),
            "token": tokens.access,
            "refreshToken": tokens.refresh,
            "expiresAt": call.cloud.variety.time(tokens.expires_at),
        }
    )


def _empty(call: Call) -> Reply:
    """The contract's empty envelope: `data` is null or not there."""
    return Reply(None) if call.cloud.variety.coin() else Reply()


def _advise_login_connection(call: Call) -> None:
    """A rotation that a client library re-sends by itself on a dead connection logs its user out."""
    if call.connection_requests > 1:
        call.advise("reused-connection", "sent on a connection that was used before")
    if "Authorization" in call.request.headers:
        call.advise("needless-bearer", "a bearer token on a route that is open to all")
