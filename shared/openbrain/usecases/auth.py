"""Authentication: the actor and the key's rights, all of it from the credential and nothing from the request.

The agent is who the key says. A name in the request counts only where `act_as` holds it (or '*'); otherwise it is
passed over, also with a key that belongs to no agent: such a key writes and reads as nobody.
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
"""The workspace whose admin keys make workspaces and manage the keys of every one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The one behind a request or a submission."""

    key_id: str
    """Of the key, or of the stream; keeps the idempotency keys of two callers apart."""
    name: str
    workspace_id: str
    agent_id: str
    permissions: frozenset[str]
    orgs: tuple[str, ...] | None = None
    without_org: bool = True
    act_as: tuple[str, ...] = ()
    rate_limit: int | None = None
    """Requests a minute; None takes the setting."""
    toolsets: tuple[Toolset, ...] = ()
    """MCP tools that are listed to it beside the core, where a request does not choose."""

    @property
    def label(self) -> str:
        """The credential's name in the audit."""
        return (self.agent_id or self.name)[: limits.AGENT_CHARS]

    def require(self, permission: Permission) -> None:
        """`Forbidden` without that permission."""
        if permission not in self.permissions:
            raise Forbidden(f"this key has no permission {permission}: ask for a key that has it")

    def speaking_as(self, agent_id: str | None) -> "Actor":
        """This credential as the agent that a request names, where the key may speak for it."""
        if not agent_id or agent_id == self.agent_id or not ({ANY_AGENT, agent_id} & set(self.act_as)):
            return self
        return replace(self, agent_id=agent_id)

    def authors(self) -> tuple[str, ...] | None:
        """The agents whose memories it may file under another agent; None for all."""
        if ANY_AGENT in self.act_as or Permission.ADMIN in self.permissions:
            return None
        return (self.agent_id, *self.act_as) if self.agent_id else self.act_as

    def may_write_to(self, org: str) -> None:
        """`Forbidden` for an org that is not the key's; '' is a memory of no org."""
        if self.orgs is None or self.viewer().sees_org(org):
            return
        if not org:
            raise Forbidden("this key is limited to its orgs: name one of them in org")
        raise Forbidden("this key is not allowed that org")

    def may_ask_for(self, org: str) -> None:
        """`Forbidden` for an org that is not the key's; '' asks for all that it may see."""
        if self.orgs is not None and org and org not in self.orgs:
            raise Forbidden("this key is not allowed that org")

    def viewer(self, session_id: str = "") -> Viewer:
        """The viewer that the credential stands for, within the session that the request names."""
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
    """A new key and its secret (`ob_` and 43 characters), to be shown once. `Invalid` for what makes no sense."""
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


def successor(old: ApiKey, now: int) -> tuple[ApiKey, str]:
    """A key that may what `old` may, until the same time, and its secret."""
    key = replace(old, id=uuid7(now), created_at=now, revoked_at=None, replaces_id=old.id)
    return key, _secret()


def _secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(32)


_FRESH = MICROSECONDS
_NEVER = -(1 << 62)
"""Longer ago than anything is fresh."""


class Keyring:
    """Turns secrets into actors. Remembers each answer for a while, so that a request costs no read of the database
    and a revoked key still ends within that time."""

    def __init__(self, api_keys: ApiKeys, clock: Clock, *, size: int = 4096) -> None:
        self._api_keys, self._clock = api_keys, clock
        self._known: Lru[str, tuple[int, _Known | None]] = Lru(size)

    async def actor(self, authorization: str | None) -> Actor:
        """The holder of the header's bearer key; `Unauthorised`, with one message, for everything else."""
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
        """Whether the header's key was good when this process last looked: costs nothing."""
        _, _, secret = (authorization or "").partition(" ")
        known = self._known.get(hash_secret(secret.strip()))
        return known is not None and known[1] is not None

    def look_again(self) -> None:
        """A key was replaced or revoked here: ask the database before the next answer."""
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
