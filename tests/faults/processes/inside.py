"""What the launcher does in a service process before the service starts: shift the clock, install marks, apply a
mutant.

Functions of the product are wrapped from outside; the product has no hooks for this.
"""

import asyncio
import inspect
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from tests.faults.processes import mutants

_WRITING = "openbrain.adapters.sql.writes.writing:SqlMemoryWrites"
_INDEX = "openbrain.adapters.elasticsearch.generations:Generations.write"
_TANTIVY = "openbrain.adapters.tantivy:TantivyText.write"
_EDGE = "openbrain.adapters.qdrant_edge.vectors:QdrantEdgeVectors.write"
_SAVE = "openbrain.adapters.sql.indexes.vectors:SqlVectors.save"
_ACK = "openbrain.streams.group.consumer_group:ConsumerGroup.ack"
_MARK = "openbrain.adapters.sql.indexes.index_marks:SqlIndexMarks.mark"
_DELIVER = "openbrain.adapters.sql.agents.matches:SqlMatches.deliver"
_NUMBER = "openbrain.adapters.sql.agents.matches:_number"
_PUBLISH = "openbrain.streams.publishing.publisher:Publisher.publish"
_DELETE = "openbrain.adapters.sql.outbox.relay:SqlOutbox.delete"
_OUTBOX = "openbrain.adapters.sql.outbox.relay:append"
_LIFECYCLE = "openbrain.adapters.sql.tenants.lifecycle.lifecycle"
_CLEANING = "openbrain.adapters.sql.tenants.cleaning"
_ADVANCE = "openbrain.adapters.sql.work.operations:SqlOperations.advance_operation"

POINTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "ingest": {
        "before the effect": (f"{_WRITING}.remember", "before"),
        "after the effect": (f"{_WRITING}.remember", "after"),
        "in the transaction": (_OUTBOX, "after"),
        "before the ack": (_ACK, "before"),
        "after the ack": (_ACK, "after"),
    },
    "embedder": {
        "before the effect": (_SAVE, "before"),
        "after the effect": (_SAVE, "after"),
        "before the ack": (_ACK, "before"),
        "after the ack": (_ACK, "after"),
    },
    "indexer-text": {
        "before the effect": (_INDEX, "before"),
        "after the effect": (_INDEX, "after"),
        "before the mark": (_MARK, "before"),
        "after the mark": (_MARK, "after"),
        "before the ack": (_ACK, "before"),
    },
    "indexer-vector": {
        "before the effect": (_INDEX, "before"),
        "after the effect": (_INDEX, "after"),
        "before the mark": (_MARK, "before"),
        "after the mark": (_MARK, "after"),
        "before the ack": (_ACK, "before"),
    },
    "matcher": {
        "before the effect": (_DELIVER, "before"),
        "after the effect": (_DELIVER, "after"),
        "in the transaction": (_NUMBER, "after"),
        "before the ack": (_ACK, "before"),
        "after the ack": (_ACK, "after"),
    },
    "housekeeper": {
        "between commit and publish": (_PUBLISH, "before"),
        "between publish and delete-mark": (_DELETE, "before"),
        "after the delete-mark": (_DELETE, "after"),
    },
    "lifecycle": {
        "in the transaction": (f"{_LIFECYCLE}:applying.apply", "after"),
        "after the commit": (f"{_LIFECYCLE}:SqlLifecycle.apply", "after"),
        "in the transaction of an undo": (f"{_LIFECYCLE}:undoing.undo", "after"),
        "after the commit of an undo": (f"{_LIFECYCLE}:SqlLifecycle.undo", "after"),
        "in the transaction of a cleaning": (f"{_CLEANING}:_clean", "after"),
        "after the commit of a cleaning": (f"{_CLEANING}:SqlCleansing.clean", "after"),
        "before the progress": (_ADVANCE, "before"),
        "after the progress": (_ADVANCE, "after"),
    },
    "api": {
        "in the transaction": (_OUTBOX, "after"),
        "between commit and answer": (f"{_WRITING}.remember", "after"),
        "before the effect": (f"{_WRITING}.update", "before"),
        "after the effect": (f"{_WRITING}.update", "after"),
    },
    "signals": {
        "after the raise": ("openbrain.adapters.sql.signals.reading:SqlSignals.raise_signals", "after"),
    },
    "up": {
        "in the transaction": (_OUTBOX, "after"),
        "between commit and answer": (f"{_WRITING}.remember", "after"),
        "between commit and publish": (_PUBLISH, "before"),
        "between publish and delete-mark": (_DELETE, "before"),
        "before the text": (_TANTIVY, "before"),
        "after the text": (_TANTIVY, "after"),
        "before the vectors": (_EDGE, "before"),
        "after the vectors": (_EDGE, "after"),
        "after embedding": (_SAVE, "after"),
        "before the mark": (_MARK, "before"),
        "before the ack": (_ACK, "before"),
    },
}
"""Service -> marked point -> the function that is wrapped, and whether the mark is before or after its call."""


def prepare(plan: Mapping[str, Any]) -> None:
    """`plan`: skew_s, mutant (its name), marks [{room, point, nth, action, seconds}]."""
    if plan.get("skew_s"):
        _shift_clock(float(plan["skew_s"]))
    if plan.get("mutant"):
        mutants.MUTANTS[plan["mutant"]].apply()
    marks: Sequence[Mapping[str, Any]] = plan.get("marks", ())
    for mark in marks:
        target, side = POINTS[mark["room"]][mark["point"]]
        _wrap(target, side, mark)


STRUCK = "faults: struck at "
"""Prefix of the log line that names the mark which a process reached."""


def _shift_clock(seconds: float) -> None:
    from openbrain.adapters.local.clock import SystemClock

    now, host = SystemClock.now, time.time
    SystemClock.now = lambda self: now(self) + round(seconds * 1_000_000)  # type: ignore[method-assign]
    time.time = lambda: host() + seconds


def _wrap(target: str, side: str, mark: Mapping[str, Any]) -> None:
    module, _, path = target.partition(":")
    owner: Any = import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    passed = 0
    original: Callable[..., Any] = getattr(owner, name)

    def due() -> bool:
        nonlocal passed
        passed += 1
        return passed == int(mark["nth"])

    if inspect.iscoroutinefunction(original):

        async def wrapped(*args: Any, **options: Any) -> Any:
            now = due()
            if now and side == "before":
                await _act(mark)
            result = await original(*args, **options)
            if now and side == "after":
                await _act(mark)
            return result

        setattr(owner, name, wrapped)
        return

    def plainly(*args: Any, **options: Any) -> Any:
        now = due()
        result = original(*args, **options)
        if now:
            _note(mark)
            _strike(mark)
        return result

    setattr(owner, name, plainly)


async def _act(mark: Mapping[str, Any]) -> None:
    _note(mark)
    if mark["action"] == "wait":
        await asyncio.sleep(mark["seconds"])
    else:
        _strike(mark)


def _note(mark: Mapping[str, Any]) -> None:
    os.write(2, f"{STRUCK}{mark['action']} {mark['room']} {mark['point']}\n".encode())


def _strike(mark: Mapping[str, Any]) -> None:
    if mark["action"] == "wait":
        time.sleep(mark["seconds"])
    elif mark["action"] == "stop":
        # The fleet, which watches this process, resumes it.
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        os.kill(os.getpid(), signal.SIGKILL)
