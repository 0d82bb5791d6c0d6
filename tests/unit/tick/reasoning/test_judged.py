"""A model's answer in both forms is parsed and judged item by item; nothing is dropped silently."""

from typing import Any

import jsonschema
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain_tick.plan.reasoning.answer.items import ITEMS, Answer, from_items, from_json, schema
from openbrain_tick.plan.reasoning.answer.judge import MERGES, judge
from openbrain_tick.plan.reasoning.answer.known import Known, KnownArc, KnownSignal
from tests.support.vault.reasoning import items_in

KNOWN = Known(
    arcs={
        "a": KnownArc(sessions=("s1", "s2"), targets=frozenset({"b"})),
        "b": KnownArc(sessions=("s3",), summarised=True, synthesised=True),
        "c": KnownArc(),
        "d": KnownArc(),
    },
    signals={
        "11": KnownSignal(source="auth", severity="warning"),
        "22": KnownSignal(source="auth-broker", severity="critical"),
        "33": KnownSignal(source="disk", severity="info"),
        "44": KnownSignal(source="disk", severity="warning"),
        "55": KnownSignal(source="core", severity="nuclear"),
    },
)


def judged(**items: Any) -> tuple[Answer, dict[str, str]]:
    verdict = judge(from_items(items), KNOWN)
    return verdict, {each.item: each.reason for each in verdict.refused}


def edge(source: str, kind: str, target: str) -> dict[str, str]:
    return {"source": source, "type": kind, "target": target, "reason": "r"}


def test_one_bad_item_costs_no_other() -> None:
    raw = {"edges": [edge("a", "parent", "c"), {"source": "a"}, 7], "health": {"score": 99}, "wish": 1}

    answer = from_json(f"```json\n{orjson.dumps(raw).decode()}\n```")

    assert answer is not None
    assert list(answer.edges) == ["edges[0]"]
    assert answer.health is None
    assert {each.item for each in answer.refused} == {"edges[1]", "edges[2]", "health", "wish"}


@pytest.mark.parametrize(
    "around", ["{}\n\nI hope this helps: {{a}}.", "As asked, {{for}} you:\n{}", "```json\n{}\n```\nDone."]
)
def test_prose_around_an_answer_is_passed_over(around: str) -> None:
    raw = {"edges": [edge("a", "parent", "c")], "intent": None, "health": {"score": 7, "reason": "a } brace"}}

    answer = from_json(around.format(orjson.dumps(raw).decode()))

    assert answer is not None
    assert (list(answer.edges), answer.refused) == (["edges[0]"], ())
    assert answer.health is not None
    assert (answer.health.score, answer.health.reason) == (7, "a } brace")


def test_an_answer_that_nests_for_ever_is_none() -> None:
    assert from_json("so: " + '{"edges": [' * 50_000) is None


@pytest.mark.parametrize("text", ["", "no json", "[1]", "{", "```\nx\n```"])
def test_what_is_no_object_is_no_answer(text: str) -> None:
    assert from_json(text) is None


def test_a_flood_is_cut_and_told() -> None:
    answer = from_items({"edges": [edge("a", "parent", "c")] * (ITEMS + 50)})

    assert len(answer.edges) == ITEMS
    assert answer.refused[0].item == f"edges[{ITEMS}:]"


def test_no_text_of_a_model_becomes_a_marker_or_a_second_line() -> None:
    answer = from_items(
        {
            "intent": {"text": "# ship\nit\x00 \u202enow\u200b", "evidence": []},
            "summaries": [{"arc": "a", "text": "<!-- @signal severity=nuclear -->"}, {"arc": "a", "text": " \n "}],
        }
    )

    assert answer.intent is not None
    assert answer.intent.text == "ship it now"
    assert not answer.summaries
    assert [each.reason for each in answer.refused] == [
        "text: must hold no comment marks",
        "text: must hold some words",
    ]


def test_the_schema_takes_whole_answers_only() -> None:
    whole: dict[str, Any] = {
        "edges": [edge("a", "parent", "b")],
        "merges": [],
        "splits": [{"arc": "a", "into": [{"title": "x", "sessions": []}] * 2, "reason": ""}],
        "signals": [{"op": "clear", "signal": None, "source": "s", "severity": None, "reason": ""}],
        "summaries": [],
        "syntheses": [],
        "intent": None,
        "health": {"score": 1, "reason": ""},
    }
    validator = jsonschema.Draft202012Validator(schema())

    validator.validate(whole)
    assert items_in(from_items(whole)) == 4
    wrongs: list[dict[str, Any]] = [whole | {"more": 1}, {"edges": []}, whole | {"edges": [{"source": "a"}]}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(wrong)


def test_edges_are_of_known_arcs_and_one_a_pair() -> None:
    verdict, refused = judged(
        edges=[
            edge("c", "related", "a"),
            edge("c", "parent", "a"),
            edge("a", "sibling", "b"),
            edge("a", "parent", "zzz"),
            edge("a", "likes", "c"),
            edge("a", "parent", "a"),
            edge("a", "child", "c"),
        ]
    )

    assert list(verdict.edges) == ["edges[1]", "edges[6]"]
    assert refused == {
        "edges[0]": "another item joins the same two arcs",
        "edges[2]": "this arc has an edge to that one",
        "edges[3]": "no arc has the id 'zzz'",
        "edges[4]": "'likes' is no type of edge: parent, child, sibling, unblocks, supersedes, related",
        "edges[5]": "an arc has no edge to itself",
    }


def test_merges_neither_chain_nor_meet_other_items() -> None:
    verdict, refused = judged(
        merges=[
            {"keep": "a", "absorb": "b", "title": "both", "reason": ""},
            {"keep": "b", "absorb": "c", "title": "chain", "reason": ""},
            {"keep": "c", "absorb": "a", "title": "back", "reason": ""},
            {"keep": "c", "absorb": "c", "title": "itself", "reason": ""},
        ],
        edges=[edge("c", "parent", "b")],
        splits=[{"arc": "a", "into": [{"title": "x"}, {"title": "y"}]}],
        syntheses=[{"arc": "b", "resolution": "done"}],
    )

    assert list(verdict.merges) == ["merges[0]"]
    assert [verdict.edges, verdict.splits, verdict.syntheses] == [{}, {}, {}]
    assert set(refused) == {"merges[1]", "merges[2]", "merges[3]", "edges[0]", "splits[0]", "syntheses[0]"}


def test_one_answer_merges_a_bounded_number() -> None:
    arcs = {f"{side}{n}": KnownArc() for n in range(MERGES + 1) for side in "xy"}
    merges = [{"keep": f"x{n}", "absorb": f"y{n}", "title": "t"} for n in range(MERGES + 1)]

    verdict = judge(from_items({"merges": merges}), Known(arcs=arcs, signals={}))

    assert len(verdict.merges) == MERGES
    assert verdict.refused[0].item == f"merges[{MERGES}]"


def test_splits_share_out_the_sessions_that_there_are() -> None:
    halves = [{"title": "x", "sessions": ["s1"]}, {"title": "y", "sessions": ["s2"]}]
    verdict, refused = judged(
        splits=[
            {"arc": "b", "into": [{"title": "x", "sessions": ["s3"]}, {"title": "y"}]},
            {"arc": "b", "into": [{"title": "x", "sessions": ["s1"]}, {"title": "y", "sessions": ["s3"]}]},
            {"arc": "a", "into": [{"title": "x", "sessions": ["s1"]}, {"title": "y", "sessions": ["s1"]}]},
            {"arc": "a", "into": [{"title": "x", "sessions": ["s1"]}, {"title": "X", "sessions": ["s2"]}]},
            {"arc": "a", "into": halves},
            {"arc": "a", "into": halves},
            {"arc": "c", "into": [{"title": "alone"}]},
        ]
    )

    assert list(verdict.splits) == ["splits[4]"]
    assert len(refused) == 6
    assert refused["splits[0]"] == "each part must take sessions of the arc"
    assert refused["splits[1]"] == "the arc has no session 's1'"


def test_signals_are_found_by_identity_and_exactly() -> None:
    verdict, refused = judged(
        signals=[
            {"op": "clear", "source": "auth", "reason": "fixed"},
            {"op": "clear", "source": "au"},
            {"op": "clear", "source": "disk"},
            {"op": "clear", "source": "disk", "signal": "44"},
            {"op": "escalate", "source": "disk", "signal": "33", "severity": "critical"},
            {"op": "escalate", "source": "disk", "signal": "33", "severity": "warning"},
            {"op": "clear", "source": "other", "signal": "22"},
        ]
    )

    assert {place: item.signal for place, item in verdict.signals.items()} == {
        "signals[0]": "11",
        "signals[3]": "44",
        "signals[4]": "33",
    }
    assert refused["signals[1]"] == "no active signal has the source 'au'"
    assert refused["signals[2]"] == "2 signals have this source: name one by its identity"
    assert refused["signals[5]"] == "another item changes this signal"
    assert refused["signals[6]"] == "the signal of this identity has another source"


@pytest.mark.parametrize(
    ("source", "change", "why"),
    [
        ("core", {"op": "clear"}, "people only"),
        ("core", {"op": "escalate", "severity": "critical"}, "people only"),
        ("auth", {"op": "escalate", "severity": "nuclear"}, "warning, critical only"),
        ("auth", {"op": "escalate", "severity": "info"}, "warning already"),
        ("auth", {"op": "escalate"}, "warning, critical only"),
        ("auth-broker", {"op": "escalate", "severity": "critical"}, "critical already"),
    ],
)
def test_a_model_halts_nobody_and_lowers_nothing(source: str, change: dict[str, str], why: str) -> None:
    verdict, refused = judged(signals=[{"source": source, **change}])

    assert not verdict.signals
    assert why in refused["signals[0]"]


def test_what_an_arc_has_is_not_written_again() -> None:
    verdict, refused = judged(
        summaries=[
            {"arc": "b", "text": "again"},
            {"arc": "a", "text": "word " * 100},
            {"arc": "a", "text": "x"},
            {"arc": "c", "text": "SKIP"},
        ],
        syntheses=[
            {"arc": "b", "resolution": "x"},
            {"arc": "a", "timeline": ["", " "]},
            {"arc": "c", "lessons": ["l"]},
        ],
        intent={"text": "ships", "evidence": ["a", "zzz"]},
    )

    assert [len(each.text) for each in verdict.summaries.values()] == [395]
    assert list(verdict.syntheses) == ["syntheses[2]"]
    assert verdict.intent is not None
    assert verdict.intent.evidence == ("a",)
    assert set(refused) == {
        "summaries[0]",
        "summaries[2]",
        "summaries[3]",
        "syntheses[0]",
        "syntheses[1]",
        "intent.evidence[1]",
    }


TEXT = st.text(max_size=30)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "b", "parent", "clear", "11", "auth"]) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["source", "type", "target", "arc", "into", "title", "op", "text", "keep", "absorb"]), inner
        )
    ),
    max_leaves=12,
)
NAMES = ["edges", "merges", "splits", "signals", "summaries", "syntheses", "intent", "health", "?"]


@given(st.dictionaries(st.sampled_from(NAMES), VALUE | st.lists(VALUE, max_size=5)))
def test_whatever_comes_is_either_taken_or_told(given_items: dict[str, Any]) -> None:
    answer = from_items(given_items)
    verdict = judge(answer, KNOWN)

    told = {each.item for each in verdict.refused}
    for name, value in given_items.items():
        places = (
            {f"{name}[{n}]" for n in range(len(value))} if isinstance(value, list) and name in NAMES[:6] else {name}
        )
        taken = (
            set(getattr(verdict, name, ()))
            if name in NAMES[:6]
            else ({name} if getattr(verdict, name, None) else set())
        )
        assert value is None or places == taken | (told & places)


def test_a_fence_with_a_long_gap_is_read_in_one_pass() -> None:
    # If each line is looked at again from each before it, this takes longer than any test may.
    assert from_json("```" + "\n" * 300_000 + "{") is None
