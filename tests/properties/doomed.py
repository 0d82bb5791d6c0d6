"""Services as separate processes that die at a chosen point, as with kill -9.

A fork server has everything imported; each service is a child of it.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.streams.group.consumer_group import ConsumerGroup
from openbrain_embedder import app as embedder
from openbrain_housekeeper import app as housekeeper
from openbrain_indexer import app as indexer
from openbrain_ingest import app as ingest
from tests.support.processes.forked import context
from tests.support.waiting import until

ROOMS: dict[str, Callable[[Container], Any]] = {
    "housekeeper": housekeeper.housekeeper,
    "ingest": ingest.service,
    "embedder": embedder.service,
    "indexer-text": indexer.text_service,
    "indexer-vector": indexer.vector_service,
}
ACK = "acknowledge"
_context = context()


@dataclass(frozen=True, slots=True)
class Blow:
    """Kill at the first call of this method of this part, before or after its effect; `ACK`: before the XACK."""

    part: str
    method: str = ""
    after: bool = False


class _Deadly:
    """The part, with one method replaced by the kill."""

    def __init__(self, part: Any, blow: Blow) -> None:
        self._part, self._blow = part, blow

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if name != self._blow.method:
            return found

        async def call(*args: Any, **named: Any) -> Any:
            if self._blow.after:
                await found(*args, **named)
            _die()

        return call


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _live(settings: Settings, service: str, blow: Blow | None) -> None:
    asyncio.run(_run(settings, service, blow))


async def _run(settings: Settings, service: str, blow: Blow | None) -> None:
    async with Container(settings) as container:
        if blow is not None and blow.part == ACK:
            ConsumerGroup.ack = _die  # type: ignore[assignment, method-assign]
        elif blow is not None:
            owner, _, name = blow.part.rpartition(".")
            of = getattr(container, owner) if owner else container
            vars(of)[name] = _Deadly(getattr(of, name), blow)
        await ROOMS[service](container).start()
        await asyncio.Event().wait()


@contextmanager
def process(settings: Settings, service: str, blow: Blow | None = None) -> Iterator[BaseProcess]:
    """Run a service in a separate process until the end of the block."""
    child = _context.Process(target=_live, args=(settings, service, blow), daemon=True)
    child.start()
    try:
        yield child
    finally:
        child.kill()
        child.join()
        child.close()


async def dies(child: BaseProcess) -> None:
    """Wait until the process was killed by its blow."""

    async def dead() -> bool:
        return not child.is_alive()

    await until(dead)
    assert child.exitcode == -signal.SIGKILL, f"it ended by itself: {child.exitcode}"
