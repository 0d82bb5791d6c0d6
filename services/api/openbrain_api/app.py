"""The API as an ASGI app. `openbrain run api` runs it alone; embedded indexes belong to `openbrain up`."""

import contextlib
import functools
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route as Path
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from openbrain import settings
from openbrain.observability import logs
from openbrain.ports.store.generations import IndexKind
from openbrain.runtime.container import Container
from openbrain.streams.monitoring.endpoints import Watched
from openbrain.usecases.auth import Keyring
from openbrain_api.api import Api
from openbrain_api.broadcasts.coalescer import Coalescer
from openbrain_api.broadcasts.hub import Hub
from openbrain_api.broadcasts.inboxes import Inboxes
from openbrain_api.broadcasts.listening_keys import ListeningKeys
from openbrain_api.broadcasts.presence import Presence
from openbrain_api.checks import Check, Checks
from openbrain_api.discovery.engine import Discovery
from openbrain_api.handlers import ROUTES
from openbrain_api.http.authentication import Authenticator
from openbrain_api.http.compression import CachedBody
from openbrain_api.http.endpoint import Endpoint, Methods, admit, not_found
from openbrain_api.http.pages import PAGES
from openbrain_api.http.rate_limit import RateLimiter
from openbrain_api.http.route import Route
from openbrain_api.memories.chains import Chains
from openbrain_api.memories.committing import Committer
from openbrain_api.memories.session_agents import SessionAgents
from openbrain_api.openapi.document import document
from openbrain_api.recall.comparing.late import LateInteraction
from openbrain_api.recall.comparing.state_cache import StateCache
from openbrain_api.recall.engine import Recaller
from openbrain_api.recall.hits.past import PastRecaller
from openbrain_api.recall.indexes.active_model import ActiveModel
from openbrain_api.recall.indexes.erasure_watch import ErasureWatch
from openbrain_api.recall.indexes.index_search import Indexes
from openbrain_api.recall.indexes.query_encodings import QueryEncodings
from openbrain_api.recall.indexes.serving import Serving, examined
from openbrain_api.recall.recording import Recorder
from openbrain_api.vaults.arc_meanings import ArcMeanings

COMMIT_LANES = {"mysql": 2, "mariadb": 2}
"""Concurrent write transactions: InnoDB groups the commits of two under load, SQLite has one writer."""


def api(container: Container, services: Sequence[Watched] = ()) -> Starlette:
    """Build the API on the adapters of a process. `services` run in the same process. The app closes its container at
    shutdown unless that is shared."""
    made = _make_api(container, services)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        made.content_policy.start()
        try:
            yield
        finally:
            await made.close()
            if not container.shared:
                await container.close()

    app = _App(routes=[Path(path, Endpoint(methods, made)) for path, methods in _methods().items()], lifespan=lifespan)
    app.router.redirect_slashes = False
    app.router.default = _not_found
    app.state.api, app.state.drain, app.state.admit = made, made.hub.drain, partial(admit, made)
    return app


def _make_api(container: Container, services: Sequence[Watched]) -> Api:
    """Build the resources on a container's adapters. Health includes the state of `services`."""
    text, vectors = container.text, container.vectors
    settings, store, clock, rates = container.settings, container.store, container.clock, container.rates
    server, timeout_s = settings.server, settings.recall.tuning.index_timeout_s
    reasoner = container.reasoner
    keyring, serving = Keyring(store.api_keys, clock), Serving(store.generations, clock)
    active_model, encoder = ActiveModel(serving, container.embedders), container.token_encoder
    query_encodings = QueryEncodings(settings.embedding.tuning.query_cache)
    state_cache = StateCache(
        store.vectors, encoder.version if encoder else b"", settings.recall.tuning.state_cache_mb * 2**20
    )
    erasure_watch = ErasureWatch(store.writes, clock, (query_encodings, state_cache))
    indexes = Indexes(
        text=text,
        vectors=vectors,
        serving=serving,
        active_model=active_model,
        erasure_watch=erasure_watch,
        query_encodings=query_encodings,
        token_encoder=encoder,
        timeout_s=timeout_s,
    )
    dependencies: dict[str, Check] = {
        "truth": store.check,
        "text": partial(examined, text, serving, IndexKind.TEXT),
        "vectors": partial(examined, vectors, serving, IndexKind.VECTOR),
        "embedder": active_model.check,
    }
    return Api(
        store=store,
        clock=clock,
        content_policy=container.content_policy,
        wake=container.wake,
        settings=settings,
        keyring=keyring,
        authenticator=Authenticator(keyring, rates, clock, server),
        rate_limiter=RateLimiter(rates, clock, server),
        committer=Committer(
            store.writes,
            container.wake,
            group=server.tuning.group_commit,
            lanes=COMMIT_LANES.get(settings.truth.url.partition("+")[0], 1),
            pressure=container.pressure,
        ),
        recaller=Recaller(
            indexes=indexes,
            memories=store.memories,
            state_cache=state_cache,
            clock=clock,
            settings=settings.recall,
            late=LateInteraction(encoder) if encoder else None,
        ),
        erasure_watch=erasure_watch,
        past_recaller=PastRecaller(store.past, clock, settings.recall),
        recorder=Recorder(store.memories, container.wake),
        discovery=Discovery(text=text, memories=store.memories, serving=serving, timeout_s=timeout_s),
        arc_meanings=ArcMeanings(encoder),
        chains=Chains(store.memories),
        session_agents=SessionAgents(store.sessions, clock),
        checks=Checks(dependencies, services, clock),
        reasoner_checks=None if reasoner is None else Checks({"reasoner": reasoner.check}, (), clock),
        pressure=container.pressure,
        embedders=container.embedders,
        active_model=active_model,
        indexes={IndexKind.TEXT: text, IndexKind.VECTOR: vectors},
        streams=container.streams,
        hub=Hub(store, container.broadcast_stream, most=server.listeners),
        inboxes=Inboxes(store.messages),
        listening=ListeningKeys(store.api_keys, clock),
        presence=Presence(store.broadcasts),
        halt_acks=Coalescer(lambda seen, agents: store.halts.ack_halt(*seen, agents)),
        document=_document,
    )


class _App(Starlette):
    """Starlette without the two middlewares that turn exceptions into responses: the endpoints raise none.

    A path without parameters is looked up in a dict: the router tries its routes in turn, some thirty on average.
    """

    def build_middleware_stack(self) -> ASGIApp:
        exact = {
            route.path: route.app for route in self.router.routes if isinstance(route, Path) and "{" not in route.path
        }

        async def routed(scope: Scope, receive: Receive, send: Send) -> None:
            endpoint = exact.get(scope["path"], self.router) if scope["type"] == "http" else self.router
            await endpoint(scope, receive, send)

        return routed


@functools.cache
def _methods() -> Mapping[str, Methods]:
    """The methods of each path, by its pattern in the order in which the router tries them."""
    by_path: dict[str, list[Route]] = defaultdict(list)
    # Paths with a verb first: the path without one would match the verb as part of the id.
    for route in sorted((*ROUTES, *PAGES), key=lambda route: "}:" not in route.path):
        by_path[route.path].append(route)
    # An agent's name may contain a slash, which arrives decoded.
    return {path.replace("{agent}", "{agent:path}"): Methods(path, routes) for path, routes in by_path.items()}


@functools.cache
def _document() -> CachedBody:
    return CachedBody.of(document(ROUTES))


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await not_found(scope, receive, send)
    else:
        await Router().not_found(scope, receive, send)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    loaded = settings.load()
    logs.configure(loaded.logs)
    return api(Container(loaded))
