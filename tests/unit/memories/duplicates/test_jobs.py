"""What dedupe and consolidate decide about clusters, whatever the clusters contain."""

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.memory import DAY, Memory
from openbrain.ports.lifecycle import Action, Change, Subject, Use
from openbrain.usecases.indexes.neighbours import place_of
from openbrain_housekeeper.handlers.lifecycle import consolidate, dedupe
from openbrain_housekeeper.handlers.lifecycle.clustering.components import Components
from tests.support.indexes.entries import memory

NOW = 100 * DAY
CONTENTS = ("Tests run on Friday", "On Friday tests run", "Tests run on Friday.", "Tests run on Monday", "Ana tests.")
PLACES: tuple[dict[str, str], ...] = (
    {},
    {"project": "web"},
    {"org": "acme"},
    {"agent_id": "ada", "memory_scope": "agent"},
)
Decided = Callable[[Sequence[Subject]], Sequence[Change]]


@st.composite
def subjects(draw: st.DrawFn) -> list[Subject]:
    """A cluster as it could be if an index were wrong about every partition."""
    made = []
    for number in range(draw(st.integers(1, 6))):
        place = draw(st.sampled_from(PLACES))
        row = memory(content=draw(st.sampled_from(CONTENTS)), **place)
        row = row._replace(
            content_hash=row.content,
            confidence=draw(st.sampled_from((0.5, 1.0))),
            created_at=number,
            confirmed_at=draw(st.sampled_from((number, DAY))),
            expires_at=draw(st.sampled_from((None, NOW + DAY))),
            tags=draw(st.sampled_from(((), ("a",), ("b", "a")))),
        )
        made.append(Subject(row, Use(recalls=draw(st.integers(0, 2)), used=draw(st.integers(0, 2)))))
    return made


def cosine(one: Memory, other: Memory) -> float:
    """Like `Clusters.cosine`: 0 across partitions."""
    return (0.97 if one.content[:5] == other.content[:5] else 0.9) if place_of(one) == place_of(other) else 0.0


def deduped(some: Sequence[Subject]) -> Sequence[Change]:
    return dedupe.decided(some, cosine)


def consolidated(some: Sequence[Subject]) -> Sequence[Change]:
    return consolidate.decided(some, cosine, 0.95, NOW, {})


def after(some: Sequence[Subject], changes: Sequence[Change]) -> list[Subject]:
    by_id = {change.memory_id: change for change in changes}
    left = []
    for subject in some:
        change = by_id.get(subject.memory.id)
        if change is None:
            left.append(subject)
        elif change.action is Action.REWRITTEN:
            assert change.after is not None
            assert change.use is not None
            left.append(Subject(change.after._replace(content_hash=change.after.content), change.use))
    return left


def holds(some: Sequence[Subject], decide: Decided) -> Sequence[Change]:
    """Check: partitions never mix, nothing is archived into an archived row, use and tags are kept, a second run
    changes nothing."""
    changes = decide(some)
    rows = {subject.memory.id: subject.memory for subject in some}
    gone = {change.memory_id for change in changes if change.action is Action.ARCHIVED}
    for change in changes:
        if change.action is Action.ARCHIVED:
            assert change.into is not None
            assert change.into not in gone
            one, other = rows[change.memory_id], rows[change.into]
            assert place_of(one) == place_of(other)
            assert other.expires_at in (None, one.expires_at)
    left = after(some, changes)
    for number in ("recalls", "used"):
        assert sum(getattr(each.use, number) for each in left) == sum(getattr(each.use, number) for each in some)
    assert {tag for each in left for tag in each.memory.tags} == {tag for each in some for tag in each.memory.tags}
    assert {place_of(each.memory) for each in left} == {place_of(each.memory) for each in some}
    assert decide(left) == []
    return changes


@given(subjects())
def test_dedupe_keeps_to_places_and_is_idempotent(some: list[Subject]) -> None:
    for change in holds(some, deduped):
        assert change.after is None or change.after.content in {each.memory.content for each in some}


@given(subjects())
def test_consolidate_keeps_to_places_and_is_idempotent(some: list[Subject]) -> None:
    rows = {each.memory.id: each.memory for each in some}
    for change in holds(some, consolidated):
        if change.into is not None:
            assert rows[change.memory_id].expires_at == rows[change.into].expires_at


@given(st.permutations(range(5)))
def test_an_order_of_reading_changes_nothing(order: list[int]) -> None:
    some = [
        Subject(memory(content=CONTENTS[number % 3])._replace(content_hash="", created_at=number, id=str(number)))
        for number in range(5)
    ]

    assert deduped([some[at] for at in order]) == deduped(some)


def test_what_is_merged_takes_in_what_is_newer_alone() -> None:
    merged = memory(metadata={consolidate.CONSOLIDATED: {"at": "2026-01-02T00:00:00Z", "from": []}})._replace()
    at = consolidate.merged_at(merged)
    assert at is not None

    assert not consolidate.mergeable(merged, merged._replace(metadata={}, created_at=at))
    assert consolidate.mergeable(merged, merged._replace(metadata={}, created_at=at + 1))
    assert consolidate.merged_at(merged._replace(metadata={consolidate.CONSOLIDATED: "yesterday"})) is None


def test_what_is_linked_by_others_hangs_together() -> None:
    components = Components[str]()
    for one, other in ("b", "a"), ("e", "d"), ("b", "c"):
        components.join(one, other)

    assert components.all() == [["a", "b", "c"], ["d", "e"]]
