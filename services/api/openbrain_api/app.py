"""The API as a process: `openbrain run api`. Embedded indexes belong to `openbrain up`."""

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette

from openbrain import settings
from openbrain.observability import logs
from openbrain.runtime.container import Parts
from openbrain.streams.monitoring.endpoints import Watched
from openbrain_api.build import build_api


def api(parts: Parts, rooms: Sequence[Watched] = ()) -> Starlette:
    """The API on the parts of a process, beside the rooms that run in it."""
    return build_api(
        truth=parts.truth,
        text=parts.text,
        vectors=parts.vectors,
        embedders=parts.embedders,
        clock=parts.clock,
        gate=parts.gate,
        wake=parts.wake,
        rates=parts.rates,
        pressure=parts.pressure,
        reasoner=parts.reasoner,
        streams=parts.streams,
        hearing=parts.hearing,
        settings=parts.settings,
        rooms=rooms,
        close=None if parts.shared else parts.close,
    )


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    loaded = settings.load()
    logs.configure(loaded.logs)
    return api(Parts(loaded))
