"""A truncated answer: its complete items are used, and nothing of the truncated item."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain_tick.plan.reasoning.answer.items import from_json
from tests.support.vault.reasoning import items_in
from tests.unit.tick.reasoning.test_judged import edge


def test_of_an_answer_that_was_cut_the_whole_items_are_taken() -> None:
    made = {
        "edges": [edge("a", 'said "x] }"', "c"), edge("a", "parent", "d")],
        "splits": [{"arc": "a", "into": [{"title": "t", "sessions": ["s1"]}, {"title": "u", "sessions": ["s2"]}]}],
        "intent": {"text": "ships", "evidence": ["a"]},
        "health": {"score": 3, "reason": ""},
    }
    text = orjson.dumps(made).decode()
    whole = from_json(text)
    assert whole is not None
    everything = {"edges[0]", "edges[1]", "splits[0]"}

    counts = []
    for end in range(len(text)):
        answer = from_json("Here it is:\n```json\n" + text[:end])
        if answer is None:
            counts.append(0)
            continue
        assert [each.item for each in answer.refused] == ["answer"]
        assert {*answer.edges, *answer.splits} <= everything
        assert all(answer.edges[each] == whole.edges[each] for each in answer.edges)
        assert all(answer.splits[each] == whole.splits[each] for each in answer.splits)
        assert answer.intent in (None, whole.intent)
        counts.append(items_in(answer))

    assert counts == sorted(counts)
    assert sorted({*counts}) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("text", ["{]", "{{}", "{[}]", '{"a": {"b": 1}]', '{"a"', "}{"])
def test_what_is_broken_in_its_midst_is_no_answer_or_an_empty_one(text: str) -> None:
    answer = from_json(text)

    assert answer is None or items_in(answer) == 0


@given(st.text(alphabet='{}[]",:\\ae1', max_size=60))
def test_nothing_breaks_the_reader_of_cut_answers(text: str) -> None:
    from_json("{" + text)
