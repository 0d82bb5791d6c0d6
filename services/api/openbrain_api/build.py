"""The app, from its ports. Nothing connects and nothing is global: a process may hold several."""

import contextlib
import functools
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.routing import Route as Path
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from openbrain.ports.broadcast_stream import Hearing
from openbrain.ports.clock import Clock
from openbrain.ports.content_policy import WriteGate
from openbrain.ports.generations import IndexKind
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.rates import Rates
from openbrain.ports.reasoner import Reasoner
from openbrain.ports.store import Truth
from openbrain.ports.streams import StreamAdmin
from openbrain.ports.wake import Wake
from openbrain.settings import Settings
from openbrain.streams.monitoring.endpoints import Watched
from openbrain.usecases.auth import Keyring
from openbrain.usecases.backpressure import Pressure
from openbrain.usecases.embedders import Embedders
from openbrain_api.broadcasts.hub import Hub
from openbrain_api.broadcasts.keys import ListeningKeys
from openbrain_api.broadcasts.presence import Presence
from openbrain_api.broadcasts.together import Together
from openbrain_api.chains import Chains
from openbrain_api.checks import Check, Checks
from openbrain_api.discovery.engine import Discovery
from openbrain_api.handlers import ROUTES
from openbrain_api.http.admission import Admission
from openbrain_api.http.door import Door
from openbrain_api.http.endpoint import Endpoint, not_found
from openbrain_api.http.packing import Finished
from openbrain_api.http.route import Route
from openbrain_api.openapi.document import document
from openbrain_api.ports import Api
from openbrain_api.recall.answering import Answering
from openbrain_api.recall.ask import Indexes
from openbrain_api.recall.engine import Recaller
from openbrain_api.recall.erased import Erased
from openbrain_api.recall.recording import Recorder
from openbrain_api.recall.serving import Serving, examined
from openbrain_api.writing.committing import Committer

COMMIT_LANES = {"mysql": 2, "mariadb": 2}
"""Transactions at once: InnoDB groups two by itself under load, SQLite has one writer."""


def build_api(
    *,
    truth: Truth,
    text: TextIndex,
    vectors: VectorIndex,
    embedders: Embedders,
    clock: Clock,
    gate: WriteGate,
    wake: Wake,
    rates: Rates,
    pressure: Pressure,
    reasoner: Reasoner,
    streams: StreamAdmin,
    hearing: Hearing,
    settings: Settings,
    services: Sequence[Watched] = (),
    close: Callable[[], Awaitable[None]] | None = None,
) -> Starlette:
    """The REST API on these ports; `close` ends them with the app, where they are its own. `services` run beside it:
    their state is part of /v1/health, /live, /ready and /metrics."""
    committer = Committer(
        truth,
        wake,
        group=settings.server.tuning.group_commit,
        lanes=COMMIT_LANES.get(settings.truth.url.partition("+")[0], 1),
        pressure=pressure,
    )
    recorder = Recorder(truth, wake)
    serving = Serving(truth, clock)
    answering = Answering(serving, embedders)
    indexes = Indexes(
        text=text,
        vectors=vectors,
        serving=serving,
        answering=answering,
        erased=Erased(truth, clock),
        cache=settings.embedding.tuning.query_cache,
        timeout_s=settings.recall.index_timeout_s,
    )
    keyring = Keyring(truth, clock)
    hub = Hub(truth, hearing, most=settings.server.listeners)
    presence = Presence(truth)
    listening = ListeningKeys(truth, clock)
    checks: dict[str, Check] = {
        "truth": truth.check,
        "text": partial(examined, text, serving, IndexKind.TEXT),
        "vectors": partial(examined, vectors, serving, IndexKind.VECTOR),
        "embedder": answering.check,
    }
    api = Api(
        truth=truth,
        clock=clock,
        gate=gate,
        wake=wake,
        settings=settings,
        keyring=keyring,
        door=Door(keyring, rates, clock, settings.server),
        committer=committer,
        recaller=Recaller(indexes=indexes, truth=truth, clock=clock, settings=settings.recall),
        discovery=Discovery(text=text, truth=truth, serving=serving, timeout_s=settings.recall.index_timeout_s),
        recorder=recorder,
        chains=Chains(truth),
        checks=Checks(checks, services, clock),
        mind=Checks({"reasoner": reasoner.check}, (), clock),
        admission=Admission(rates, clock, settings.server),
        pressure=pressure,
        streams=streams,
        hub=hub,
        listening=listening,
        presence=presence,
        stopped=Together(lambda seen, agents: truth.ack_halt(*seen, agents)),
        embedders=embedders,
        indexes={IndexKind.TEXT: text, IndexKind.VECTOR: vectors},
        document=_document,
    )

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await hub.close()
            await listening.close()
            await presence.close()
            await committer.close()
            await recorder.close()
            await answering.close()
            if close is not None:
                await close()

    app = _App(routes=_paths(api), lifespan=lifespan)
    app.router.redirect_slashes = False
    app.router.default = _not_found
    app.state.drain = hub.drain
    app.state.hub, app.state.presence, app.state.listening = hub, presence, listening
    return app


class _App(Starlette):
    """Without the two middlewares that turn exceptions into answers: the endpoints let none out."""

    def build_middleware_stack(self) -> ASGIApp:
        return self.router


def _paths(api: Api) -> list[Path]:
    by_path: dict[str, list[Route]] = defaultdict(list)
    # A path with a verb first: the one without would take the verb for a part of the id.
    for route in sorted(ROUTES, key=lambda route: "}:" not in route.path):
        by_path[route.path].append(route)
    return [Path(path, Endpoint(path, routes, api)) for path, routes in by_path.items()]


@functools.cache
def _document() -> Finished:
    return Finished.of(document(ROUTES))


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await not_found(scope, receive, send)
    else:
        await Router().not_found(scope, receive, send)
