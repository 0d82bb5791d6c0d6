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
    """One validated request: its actor, its input, and the resources to answer it."""

    api: Api
    actor: Actor
    body: B
    query: Q
    path: Mapping[str, str]
    headers: Headers
    stream: AsyncIterator[bytes] | None = None
    """The body as it arrives, in parts of any size. Only for routes with `streamed` or `form`."""

    async def viewer(self, session_id: str | None, actor: Actor | None = None) -> Viewer:
        """The viewer for reads, who also sees the memories of other agents in the named session. For changes use
        `actor.viewer`: an agent changes only its own there."""
        return await self.api.session_agents.of((actor or self.actor).viewer(session_id or ""))

    def agent(self, named: str | None, whose: str) -> Actor:
        """The agent that the request speaks for. Raise `Invalid` if there is none; `whose` ("messages are") begins the
        message."""
        actor = self.actor.speaking_as(named)
        if not actor.agent_id:
            raise Invalid("agent_id", f"{whose} an agent's: use a key of that agent, or one that may act as it")
        return actor

    @property
    def traceparent(self) -> str | None:
        """The trace context of this request's span; without a span, the one that the client sent."""
        return metrics.traceparent() or traceparent(self.headers)

    def origin(self, actor: Actor | None = None) -> Origin:
        """The origin of the request's changes."""
        return Origin(actor=(actor or self.actor).label, traceparent=self.traceparent)


Handler = Callable[[Call[Any, Any]], Awaitable[Response]]


async def _undecorated(_call: Call[Any, Any]) -> Response:
    raise AssertionError("a route decorates its handler")


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path. It decorates its handler, and replaces it in the module."""

    method: str
    path: str
    _: KW_ONLY
    handler: Handler = _undecorated
    """The function. Its docstring's first line is the OpenAPI summary; its `Call` annotation sets body and query."""
    body: type[BaseModel] = Nothing
    query: type[QueryString] = Nothing
    permission: Permission | None = None
    """None: open to everyone, or (with `authenticated`) to every valid key."""
    authenticated: bool = False
    """True if any valid key will do, whatever its permissions."""
    response: type[BaseModel] | None = None
    """None: the response has no model (metrics, the OpenAPI document itself)."""
    statuses: tuple[int, ...] = (200,)
    """Success statuses, each with the model `response`."""
    problems: tuple[int, ...] = ()
    """Error statuses besides those that every route of its kind has."""
    waits: bool = False
    """Whether the route supports `Prefer: wait`."""
    keyed: bool = False
    """Whether the route supports `Idempotency-Key`."""
    matched: bool = False
    """Whether the response has an `ETag`, and the route supports `If-Match` (a GET: `If-None-Match`)."""
    cost: int = 1
    """How many of the key's requests per minute it costs."""
    weigh: Callable[[Any], int] | None = None
    """The cost by body, if it depends on that: the part above `cost` is taken once the body is read."""
    body_bytes: int = limits.ONE_BODY_BYTES
    """The largest body, decompressed."""
    stores: bool = False
    """Whether it causes events: then it is refused while too many events wait, or the stream server is full."""
    gated: bool = True
    """Texts of a changing request pass the content policy before the handler sees them. False if the handler applies
    the policy itself, or if the body is meant to hold a credential."""
    streamed: bool = False
    """The body is NDJSON, which the handler reads while it arrives; limits apply to each line."""
    public: bool = False
    """Public and cached by its entity tag; requests are rate-limited by address."""
    operators: bool = False
    """About the system, not a tenant: only for operators, see `Authenticator.operator`."""
    form: tuple[str, ...] = ()
    """The body is a form with these fields, as the original's clients send it; a name that ends in [] is for files. The
    handler reads it from `stream`."""
    media: str = JSON
    """The media type of a success without `response`."""

    def __call__(self, handler: Handler) -> "Route":
        """The route of this handler."""
        body, query = get_args(handler.__annotations__["call"])
        return replace(self, handler=handler, body=body, query=query)

    @property
    def summary(self) -> str:
        """One line for the OpenAPI document."""
        return (self.handler.__doc__ or "").partition("\n")[0].removesuffix(".")

    @property
    def needs_key(self) -> bool:
        """Whether a request without a valid key is refused."""
        return self.authenticated or self.permission is not None

    @property
    def changes(self) -> bool:
        """Whether the request may change anything."""
        return self.method != "GET" and self.permission not in (Permission.BRAIN_READ, Permission.VAULT_READ)
