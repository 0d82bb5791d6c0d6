"""Authentication: actor and rights come from the credential only, never from the request.

The agent is the key's. A name in the request counts only if `act_as` contains it (or '*'); otherwise it is ignored.
That also applies to a key without an agent, which then acts as no agent.
"""

import hashlib
import secrets
from dataclasses import dataclass, replace

from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.toolsets import Toolset
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.caches import Lru
from openbrain.domain.errors import Forbidden, Invalid, Unauthorised
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import ApiKey, ApiKeys

SECRET_PREFIX = "ob_"  # noqa: S105 - how a key begins, not a key
ANY_AGENT = "*"
OPERATORS = "system"
"""The workspace whose admin keys create workspaces and manage the keys of all workspaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who makes a request or a submission."""

    key_id: str
    """The id of the key or stream; separates the idempotency keys of different callers."""
    name: str
    workspace_id: str
    agent_id: str
    permissions: frozenset[str]
    orgs: tuple[str, ...] | None = None
    without_org: bool = True
    act_as: tuple[str, ...] = ()
    rate_limit: int | None = None
    """Requests per minute; None uses the setting."""
    toolsets: tuple[Toolset, ...] = ()
    """MCP tools listed to it in addition to the core ones, unless the request selects them."""

    @property
    def label(self) -> str:
        """The credential's name in the audit."""
        return (self.agent_id or self.name)[: limits.AGENT_CHARS]

    def require(self, permission: Permission) -> None:
        """Raise `Forbidden` without that permission."""
        if permission not in self.permissions:
            raise Forbidden(f"this key has no permission {permission}: ask for a key that has it")

    def speaking_as(self, agent_id: str | None) -> "Actor":
        """Act as the agent that a request names, if the key may; otherwise unchanged."""
        if not agent_id or agent_id == self.agent_id or not ({ANY_AGENT, agent_id} & set(self.act_as)):
            return self
        return replace(self, agent_id=agent_id)

    def authors(self) -> tuple[str, ...] | None:
        """The agents whose memories it may transfer to another agent; None for all."""
        if ANY_AGENT in self.act_as or Permission.ADMIN in self.permissions:
            return None
        return (self.agent_id, *self.act_as) if self.agent_id else self.act_as

    def may_write_to(self, org: str) -> None:
        """Raise `Forbidden` if the key must not write to this org; '' stands for memories without an org."""
        if self.orgs is None or self.viewer().sees_org(org):
            return
        if not org:
            raise Forbidden("this key is limited to its orgs: name one of them in org")
        raise Forbidden("this key is not allowed that org")

    def may_ask_for(self, org: str) -> None:
        """Raise `Forbidden` if the key must not read this org; '' asks for everything it may see."""
        if self.orgs is not None and org and org not in self.orgs:
            raise Forbidden("this key is not allowed that org")

    def viewer(self, session_id: str = "") -> Viewer:
        """The viewer for this credential, within the session that the request names."""
        return Viewer(
            workspace_id=self.workspace_id,
            agent_id=self.agent_id,
            orgs=self.orgs,
            without_org=self.without_org,
            session_id=session_id,
        )


def hash_secret(secret: str) -> str:
    """The stored form of a secret: SHA-256, hex. 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def issue(
    *,
    workspace_id: str,
    name: str,
    permissions: frozenset[str],
    now: int,
    agent_id: str = "",
    orgs: tuple[str, ...] | None = None,
    without_org: bool = True,
    act_as: tuple[str, ...] = (),
    expires_at: int | None = None,
    rate_limit: int | None = None,
    toolsets: tuple[Toolset, ...] = (),
) -> tuple[ApiKey, str]:
    """Return a new key and its secret (`ob_` and 43 characters), to be shown once. Raise `Invalid` for bad
    arguments."""
    unknown = permissions - set(Permission)
    if unknown or not permissions:
        raise Invalid("permissions", f"must be some of {', '.join(Permission)}")
    if Permission.ADMIN in permissions and orgs is not None:
        raise Invalid("orgs", "an admin key makes keys for every org, so it can't be limited to some")
    if expires_at is not None and expires_at <= now:
        raise Invalid("expires_at", "must lie in the future")
    key = ApiKey(
        id=uuid7(now),
        workspace_id=workspace_id,
        name=name,
        agent_id=agent_id,
        permissions=permissions,
        orgs=orgs,
        without_org=without_org,
        act_as=act_as,
        created_at=now,
        expires_at=expires_at,
        rate_limit=rate_limit,
        toolsets=toolsets,
    )
    return key, _secret()


def successor(old: ApiKey, now: int, expires_at: int | None) -> tuple[ApiKey, str]:
    """Return a key with the rights of `old`, and its secret."""
    key = replace(old, id=uuid7(now), created_at=now, expires_at=expires_at, revoked_at=None, replaces_id=old.id)
    return key, _secret()


def _secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(32)


_FRESH = MICROSECONDS
_NEVER = -(1 << 62)
"""Older than any fresh entry."""


class Keyring:
    """Maps secrets to actors. Caches each answer for a second, so that most requests need no database read and a
    revoked key stops working within that time."""

    def __init__(self, api_keys: ApiKeys, clock: Clock, *, size: int = 4096) -> None:
        self._api_keys, self._clock = api_keys, clock
        self._known: Lru[str, tuple[int, _Known | None]] = Lru(size)

    async def actor(self, authorization: str | None) -> Actor:
        """Return the holder of the header's bearer key. Raise `Unauthorised`, always with the same message, for all
        else."""
        scheme, _, secret = (authorization or "").partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret.startswith(SECRET_PREFIX):
            raise _unauthorised()
        known = await self._look_up(hash_secret(secret))
        now = self._clock.now()
        if known is None or (known.ends_at is not None and known.ends_at <= now):
            raise _unauthorised()
        return known.actor

    def knows(self, authorization: str | None) -> bool:
        """True if the header's key was valid when this process last checked; no database access."""
        _, _, secret = (authorization or "").partition(" ")
        known = self._known.get(hash_secret(secret.strip()))
        return known is not None and known[1] is not None

    def look_again(self) -> None:
        """Expire the cache after a key was replaced or revoked in this process."""
        for secret_hash, (_, known) in list(self._known.items()):
            self._known[secret_hash] = (_NEVER, known)

    async def _look_up(self, secret_hash: str) -> "_Known | None":
        now = self._clock.now()
        known = self._known.get(secret_hash)
        if known is not None and 0 <= now - known[0] < _FRESH:
            return known[1]
        key = await self._api_keys.key_by_hash(secret_hash)
        speaker = None if key is None or key.revoked_at is not None else _Known(_actor(key), key.expires_at)
        self._known[secret_hash] = (now, speaker)
        return speaker


@dataclass(frozen=True, slots=True)
class _Known:
    actor: Actor
    ends_at: int | None


def _actor(key: ApiKey) -> Actor:
    return Actor(
        key_id=key.id,
        name=key.name,
        workspace_id=key.workspace_id,
        agent_id=key.agent_id,
        permissions=key.permissions,
        orgs=key.orgs,
        without_org=key.without_org,
        act_as=key.act_as,
        rate_limit=key.rate_limit,
        toolsets=key.toolsets,
    )


def _unauthorised() -> Unauthorised:
    return Unauthorised("send a valid key as `Authorization: Bearer ob_...`")
