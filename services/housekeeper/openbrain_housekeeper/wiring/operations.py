"""Wires the handler of each kind of operation."""

from functools import partial

from redis.asyncio import Redis

from openbrain.ports.lifecycle import CLEAN
from openbrain.ports.store.generations import MODEL_CHANGE, IndexKind
from openbrain.ports.store.index_entries import REINDEX, VERIFY
from openbrain.ports.store.tenants import CLOSE
from openbrain.ports.store.writes import FORGET, PURGE
from openbrain.runtime.container import Container
from openbrain.streams.handling.runtime import consumer_name
from openbrain.streams.operating.erasure import StreamEraser
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.publishing.publisher import Publisher
from openbrain_housekeeper.back_pressure import held_back
from openbrain_housekeeper.handlers.close_workspace import Closing
from openbrain_housekeeper.handlers.forget import Forgetting
from openbrain_housekeeper.handlers.purge import Indexes, Project, Purging
from openbrain_housekeeper.handlers.redelivery import steps
from openbrain_housekeeper.handlers.verify import Verifying
from openbrain_housekeeper.jobs.operations import Step, Worker
from openbrain_housekeeper.reconciliation.verification import Verifier
from openbrain_housekeeper.wiring.cleaning import cleaning
from openbrain_housekeeper.wiring.lifecycle import lifecycle_steps
from openbrain_housekeeper.wiring.reindex import reindexing


def worker(
    container: Container,
    client: Redis,
    publisher: Publisher,
    redelivery: Redelivery,
    compared: Verifier,
    project_text: Project | None,
) -> Worker:
    """The worker for operations of every kind. `project_text`: see `app.housekeeper`."""
    eraser = StreamEraser(client, container.settings.streams, container.clock)
    rebuild, verifying = reindexing(container, client, publisher), Verifying(compared)
    return Worker(
        container.store.operations,
        {
            **erasing_steps(container, eraser, project_text),
            **steps(redelivery, container.store.index_marks),
            **lifecycle_steps(container),
            CLEAN: cleaning(container, eraser),
            REINDEX: rebuild,
            MODEL_CHANGE: rebuild,
            VERIFY: verifying,
        },
        consumer_name(),
        lasting={PURGE},
        clean_up={REINDEX: rebuild.clean_up, MODEL_CHANGE: rebuild.clean_up, VERIFY: verifying.clean_up},
    )


def erasing_steps(container: Container, streams: StreamEraser, project_text: Project | None) -> dict[str, Step]:
    """Steps of operations that end many memories, or all of a workspace."""
    store, clock = container.store, container.clock
    indexes: Indexes = {
        name: (partial(container.index, kind), partial(store.generations.written, kind))
        for name, kind in (("text", IndexKind.TEXT), ("vectors", IndexKind.VECTOR))
    }
    return {
        FORGET: held_back(Forgetting(store, clock), container.pressure),
        PURGE: Purging(store, streams, indexes, clock, project_text),
        CLOSE: held_back(Closing(store, streams, clock), container.pressure),
    }
