"""Hits of a few sessions make room for near hits of other sessions, and for nothing else."""

from openbrain_api.recall.hits.sessions import spread
from openbrain_api.recall.order import RankedMemory
from tests.support.indexes.entries import memory


def hits(*told: tuple[str, float]) -> list[RankedMemory]:
    """Hits from pairs of session ('' means no turn) and score."""
    return [
        RankedMemory(memory(session_id=session, turn=turn if session else None), score)
        for turn, (session, score) in enumerate(told)
    ]


def shown(found: list[RankedMemory], top_k: int) -> list[int]:
    """The original positions of the hits that are shown."""
    places = {hit.memory.id: place for place, hit in enumerate(found)}
    return [places[hit.memory.id] for hit in spread(found, top_k)]


def test_further_sessions_take_the_last_places_of_one_that_has_many() -> None:
    found = hits(*(("a", 0.9) for _ in range(8)), ("b", 0.8), ("", 0.8), *((each, 0.7) for each in "abcdefgh"))

    answer = shown(found, 10)

    assert answer[:10] == [0, 1, 2, 3, 8, 9, 12, 13, 14, 15]
    assert sorted(answer) == list(range(len(found)))
    assert [hit.spread for hit in spread(found, 10)][:10] == [False] * 6 + [True] * 4


def test_five_hits_are_of_three_sessions() -> None:
    found = hits(*(("a", 0.9) for _ in range(6)), ("b", 0.8), ("c", 0.7), ("d", 0.6))

    assert shown(found, 5)[:5] == [0, 1, 2, 6, 7]


def test_what_is_far_is_no_turn_or_has_no_room_changes_nothing() -> None:
    far = hits(*(("a", 0.9) for _ in range(10)), ("b", 0.4))
    notes = hits(*(("", 0.9) for _ in range(12)))
    pairs = hits(*((each, 0.9) for each in "aabbccddee"), ("f", 0.8))

    for found in (far, notes, pairs, hits()):
        assert shown(found, 10) == list(range(len(found)))
