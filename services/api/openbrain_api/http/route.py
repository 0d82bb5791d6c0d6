"""A route is data: its path, permission, request and responses, and the handler that it decorates."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Generic, TypeVar, get_args

from pydantic import BaseModel

from openbrain.contract.base import QueryString
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Invalid
from openbrain.observability import metrics
from openbrain.ports.store.writes import Origin
from openbrain.usecases.auth import Actor
from openbrain_api.api import Api
from openbrain_api.http.parsing import Headers, traceparent
from openbrain_api.http.response import JSON, Response

B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=QueryString)


class Nothing(QueryString):
    """The body or query of a route that takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[B, Q]):
    """One request, checked: who, what, and the ports to answer with."""

    api: Api
    actor: Actor
    body: B
    query: Q
    path: Mapping[str, str]
    headers: Headers
    stream: AsyncIterator[bytes] | None = None
    """The body as it arrives, in parts of any size, of a route that takes one so."""

    async def viewer(self, session_id: str | None, actor: Actor | None = None) -> Viewer:
        """The reader of the request, in the session that it names. What it changes must be the agent's own."""
        return await self.api.session_agents.of((actor or self.actor).viewer(session_id or ""))

    def agent(self, named: str | None, whose: str) -> Actor:
        """The agent that the request speaks for. `Invalid` where it is none; `whose` ("messages are") says why."""
        actor = self.actor.speaking_as(named)
        if not actor.agent_id:
            raise Invalid("agent_id", f"{whose} an agent's: use a key of that agent, or one that may act as it")
        return actor

    @property
    def traceparent(self) -> str | None:
        """Of the span of this request; where none is made, as the client sent it."""
        return metrics.traceparent() or traceparent(self.headers)

    def origin(self, actor: Actor | None = None) -> Origin:
        """The origin of the request's changes."""
        return Origin(actor=(actor or self.actor).label, traceparent=self.traceparent)


Handler = Callable[[Call[Any, Any]], Awaitable[Response]]


async def _undecorated(_call: Call[Any, Any]) -> Response:
    raise AssertionError("a route decorates its handler")


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path; it decorates its handler, and stands for it in the module."""

    method: str
    path: str
    _: KW_ONLY
    handler: Handler = _undecorated
    """The function. Its docstring's first line is the document's summary; body and query are those of its `Call`."""
    body: type[BaseModel] = Nothing
    query: type[QueryString] = Nothing
    permission: Permission | None = None
    """None: open to everyone, or to every valid key."""
    authenticated: bool = False
    """Any valid key will do, whatever it permits."""
    response: type[BaseModel] | None = None
    """None: not JSON of ours (metrics, the document itself)."""
    statuses: tuple[int, ...] = (200,)
    """Successes, each with `response`."""
    problems: tuple[int, ...] = ()
    """Refusals beside those that every route of its kind has."""
    waits: bool = False
    """Whether `Prefer: wait` counts."""
    keyed: bool = False
    """Whether `Idempotency-Key` counts."""
    matched: bool = False
    """Whether it is of one memory: `If-Match` counts (of a GET `If-None-Match`), and the answer has an `ETag`."""
    cost: int = 1
    """Of the key's requests a minute."""
    weigh: Callable[[Any], int] | None = None
    """The cost of a body, where that depends on it: what is above `cost` is taken once it is read."""
    body_bytes: int = limits.ONE_BODY_BYTES
    """The largest body, decompressed."""
    stores: bool = False
    """Whether it causes events of its own accord: refused while too many wait, or the stream server is full."""
    gated: bool = True
    """Texts of a changing request pass the content policy before the handler sees them. False where the handler brings
    them to it, or where the body is the place for a credential."""
    streamed: bool = False
    """The body is NDJSON, which the handler reads while it arrives: limits count for each line."""
    public: bool = False
    """Public and cached by its entity tag; requests are rate-limited by address."""
    operators: bool = False
    """Of the system, not of a tenant: see `Authenticator.operator`."""
    form: tuple[str, ...] = ()
    """The body is a form with these fields, as the original's clients send; a name that ends in [] is of files. The
    handler reads it from `stream`."""
    media: str = JSON
    """The media type of a success without `response`."""

    def __call__(self, handler: Handler) -> "Route":
        """The route of this handler."""
        body, query = get_args(handler.__annotations__["call"])
        return replace(self, handler=handler, body=body, query=query)

    @property
    def summary(self) -> str:
        """One line for the document."""
        return (self.handler.__doc__ or "").partition("\n")[0].removesuffix(".")

    @property
    def needs_key(self) -> bool:
        """Whether a request without a valid key is refused."""
        return self.authenticated or self.permission is not None

    @property
    def changes(self) -> bool:
        """Whether something may be different once it was answered."""
        return self.method != "GET" and self.permission not in (Permission.BRAIN_READ, Permission.VAULT_READ)
