"""Hand-made plans, each for one way in which a pipeline can lose data. All pass unbroken; each fails with its
mutants."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.faults.planning.operations import Operation
from tests.faults.planning.plan import LEASE_S, RECONCILING, RESTING, ROOMS, SERVERS, Fault, Plan
from tests.support.waiting import PATIENCE_S

_ONE_EACH = dict.fromkeys(ROOMS, 1)
_HOLD_S = LEASE_S * 1.7
_LONG_HOLD_S = 2 * PATIENCE_S
"""Long enough: another replica resumes the stopped process earlier."""
_PATIENT = {"OPENBRAIN_TEXT__TUNING__TIMEOUT_S": "30"}
"""A long timeout, so that a delayed request succeeds at its first attempt."""
_ALL_THERE = {"until done": True, "published": True}
_LONG = " ".join(f"word{number}" for number in range(900))
PRODUCERS = 4


def _operations(*kinds: str, slots: int = 12, **more: Any) -> tuple[Operation, ...]:
    """Return one operation of each kind for every slot, kind after kind. `more`: fields that all of them get."""
    made: list[Operation] = []
    for kind in kinds:
        for slot in range(slots):
            number = len(made)
            content = f"operation {number} unique{number} {kind} of a slot"
            made.append(Operation(number, slot, kind, content=content, **{"stream": False, "tags": (kind,), **more}))
    return tuple(made)


def _plan(
    *faults: Fault,
    operations: tuple[Operation, ...],
    replicas: Mapping[str, int] | None = None,
    settings: Mapping[str, str] | None = None,
    pause_s: float = 0.03,
    converge_s: float = 30,
    **more: Any,
) -> Plan:
    return Plan(
        seed=0,
        form=SERVERS,
        streams="redis",
        embedder="double",
        operations=operations,
        producers=PRODUCERS,
        slots=12,
        replicas={**_ONE_EACH, **(replicas or {})},
        faults=faults,
        pause_s=pause_s,
        settings={**RESTING, **(settings or {})},
        converge_s=converge_s,
        **more,
    )


def _mark(service: str, point: str, nth: int, action: str = "kill", seconds: float = _HOLD_S) -> Fault:
    mark = {"room": service, "point": point, "nth": nth, "action": action, "seconds": seconds}
    return Fault(f"{action} at a mark", f"{service} {point}", more=mark)


def killed_in_the_middle() -> Plan:
    """Every consumer dies once while it holds a batch that it has not begun to handle."""
    services = ("embedder", "indexer-text", "indexer-vector")
    marks = [_mark(service, "before the effect", 1) for service in services]
    return _plan(*marks, operations=_operations("remember", slots=24))


def a_writer_from_the_past() -> Plan:
    """A text indexer is stopped between reading rows and writing them. Meanwhile half of the rows change and half end,
    and another replica takes over its pending entries and writes them. Once no work is left, the first indexer is
    resumed, writes what it had read, and dies before it could read the rows again: so nothing repairs what the version
    fence lets through."""
    first, second = _operations("remember"), _operations("update", "forget")
    changes = tuple(each for each in second if (each.kind == "update") == (each.slot % 2 == 0))
    after = tuple(
        Operation(len(first) + number, each.slot, each.kind, stream=False, content=each.content, tags=each.tags)
        for number, each in enumerate(changes)
    )
    return _plan(
        # All of them in one batch.
        Fault("late start", "indexer-text", at=len(first) / len(first + after), more={"published": True}),
        _mark("indexer-text", "before the effect", 1, "stop", _LONG_HOLD_S),
        _mark("indexer-text", "after the effect", 1),
        Fault("another replica", "indexer-text", more={"marks": 2}),
        operations=first + after,
        held=(len(first), "indexer-text"),
        settings=_PATIENT,
    )


def a_late_mark() -> Plan:
    """A text indexer is stopped between writing and marking while another one writes a newer revision."""
    return _plan(
        _mark("indexer-text", "before the mark", 1, "stop", _LONG_HOLD_S),
        Fault("another replica", "indexer-text"),
        operations=_operations("remember", "update"),
        held=(12, "indexer-text"),
        settings=_PATIENT,
    )


def damaged_entries() -> Plan:
    """Text entries get different content at the same revision; then the same events are delivered again."""
    return _plan(
        Fault("entries damaged", at=2.0),
        Fault("late redelivery", at=2.0),
        operations=_operations("remember", "update"),
    )


def a_late_reader() -> Plan:
    """A service starts for the first time when its streams already hold about half of the entries."""
    return _plan(
        Fault("late start", "indexer-text", at=0.6, more={"published": True}),
        Fault("late start", "indexer-vector", at=0.6, more={"published": True}),
        operations=_operations("remember", "update"),
    )


def a_late_commit() -> Plan:
    """An API is stopped inside its transaction while another one commits events with higher numbers."""
    return _plan(
        _mark("api", "in the transaction", 4, "stop"),
        operations=_operations("remember", "update"),
        replicas={"api": 2},
    )


def a_dying_relay() -> Plan:
    """The housekeeper dies between reading the outbox and publishing."""
    return _plan(_mark("housekeeper", "between commit and publish", 1), operations=_operations("remember"))


def a_failover() -> Plan:
    """The stream server refuses writes while memories are acknowledged."""
    demoted = Fault("streams demoted", at=0.2, seconds=2, more={"until done": True})
    return _plan(demoted, operations=_operations("remember", slots=24))


def a_slow_model() -> Plan:
    """Each request to the model takes longer than a lease, and two embedders run. No text is embedded twice."""
    return _plan(
        Fault("embedder", "very slow", seconds=9, more={"until done": True, "until embedded": True}),
        operations=_operations("remember", slots=1),
        replicas={"embedder": 2},
        settings={"OPENBRAIN_EMBEDDING__TIMEOUT_S": "20", "OPENBRAIN_STREAMS__LEASE_S": "3"},
        once=True,
    )


def a_trimmed_reader() -> Plan:
    """Streams are trimmed after a short retention, and a service is stopped for longer than that."""
    return _plan(
        Fault("stop", "indexer-text", at=0.1, seconds=3, more=_ALL_THERE),
        Fault("stop", "embedder", at=0.1, seconds=3, more=_ALL_THERE),
        operations=_operations("remember", "update"),
        pause_s=0.15,
        settings={"OPENBRAIN_STREAMS__RETENTION_S": "0.5", "OPENBRAIN_HOUSEKEEPING__TUNING__TRIM_EVERY_S": "0.3"},
        strict_tombstones=False,
    )


def spoilt_entries() -> Plan:
    """Invalid entries, which no service can handle, are mixed with valid ones while the services are stopped."""
    return _plan(
        Fault("stop", "indexer-text", at=0.05, more=_ALL_THERE),
        Fault("stop", "embedder", at=0.05, more=_ALL_THERE),
        Fault("spoilt entries", at=0.3),
        Fault("spoilt entries", at=0.6),
        operations=_operations("remember", "update"),
    )


def a_lying_model() -> Plan:
    """The model returns fewer vectors than requested: attempts fail and are retried."""
    lying = Fault("embedder", "too few", seconds=1, more={"until done": True, "until met": True})
    return _plan(lying, operations=_operations("remember"))


def shorter_texts() -> Plan:
    """Texts with many passages are replaced by short ones."""
    long = tuple(
        Operation(number, number, "remember", stream=False, content=f"operation {number} unique{number} {_LONG}")
        for number in range(8)
    )
    short = tuple(
        Operation(8 + number, number, "update", stream=False, content=f"operation {8 + number} short unique{number}")
        for number in range(8)
    )
    return _plan(operations=long + short, held=(len(long), ""))


def a_dying_api() -> Plan:
    """The API dies between commit and answer; its client repeats the request. Duplicate content is allowed here."""
    made = _operations("remember", "supersede", twin=True)
    return _plan(
        _mark("api", "between commit and answer", 2),
        _mark("ingest", "after the effect", 2),
        operations=tuple(replace(each, stream=each.slot % 2 == 1) for each in made),
    )


def a_flushed_server() -> Plan:
    """The stream server loses everything, also entries that an indexer has not read yet, and no operator intervenes."""
    return _plan(
        Fault("streams flushed", at=0.3),
        Fault("streams flushed", at=0.6, more={"published": True}),
        Fault("late start", "indexer-text", at=1.0, more={"published": True}),
        operations=_operations("remember", slots=24),
        settings=RECONCILING,
        converge_s=45,
    )


def lost_entries() -> Plan:
    """An index loses half of its entries, although every row is marked as indexed."""
    return _plan(
        Fault("entries lost", at=2.0),
        operations=_operations("remember", slots=24),
        settings=RECONCILING,
        converge_s=45,
    )


SCENARIOS: Mapping[str, Callable[[], Plan]] = {
    "killed in the middle": killed_in_the_middle,
    "a writer from the past": a_writer_from_the_past,
    "a late mark": a_late_mark,
    "damaged entries": damaged_entries,
    "a late reader": a_late_reader,
    "a late commit": a_late_commit,
    "a dying relay": a_dying_relay,
    "a failover": a_failover,
    "a slow model": a_slow_model,
    "a trimmed reader": a_trimmed_reader,
    "spoilt entries": spoilt_entries,
    "a lying model": a_lying_model,
    "shorter texts": shorter_texts,
    "a dying API": a_dying_api,
    "a flushed server": a_flushed_server,
    "lost entries": lost_entries,
}
