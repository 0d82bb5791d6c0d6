"""The API as a process: `openbrain run api`. Embedded indexes belong to `openbrain up`."""

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette

from openbrain import settings
from openbrain.observability import logs
from openbrain.runtime.container import Container
from openbrain.streams.monitoring.endpoints import Watched
from openbrain_api.build import build_api


def api(container: Container, services: Sequence[Watched] = ()) -> Starlette:
    """The API on the parts of a process, beside the services that run in it."""
    return build_api(
        truth=container.truth,
        text=container.text,
        vectors=container.vectors,
        embedders=container.embedders,
        clock=container.clock,
        gate=container.gate,
        wake=container.wake,
        rates=container.rates,
        pressure=container.pressure,
        reasoner=container.reasoner,
        streams=container.streams,
        hearing=container.hearing,
        settings=container.settings,
        services=services,
        close=None if container.shared else container.close,
    )


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    loaded = settings.load()
    logs.configure(loaded.logs)
    return api(Container(loaded))
