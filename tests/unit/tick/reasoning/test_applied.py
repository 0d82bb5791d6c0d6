"""Accepted items are applied to pages completely or not at all, each once, and are read back as intended."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openbrain.domain.errors import Invalid
from openbrain.vault.front_matter.document import read
from openbrain.vault.markers.fences import Lines, Quoted
from openbrain.vault.markers.markers import parse
from openbrain.vault.pages.arcs import identity
from openbrain_tick.plan.reasoning.answer.items import from_items
from openbrain_tick.plan.reasoning.answer.judge import judge
from openbrain_tick.plan.reasoning.answer.known import known_of
from openbrain_tick.plan.reasoning.sections import add
from tests.support.forms import examples
from tests.support.vault.reasoning import ALARM, DAY, applied, arcs_of, page, vault, written


def edge(source: str, target: str) -> dict[str, str]:
    return {"source": source, "type": "parent", "target": target}


def test_defect_03_an_edge_is_written_once_whatever_the_headings_in_the_text() -> None:
    prose = "```\n## Edges\n```\nprose about `## Edges`\n\n## Edges\n\nagain\n"
    texts = vault(a=page("a", body=prose), b=page("b"))

    after, made = applied(texts, edges=[edge("a", "b")])

    assert made.done == ("edges[0]",)
    text = after[f"{DAY}/a.md"]
    assert text.count("target=b") == 1
    assert text.index("about `## Edges`") < text.index("target=b") < text.index("again")
    assert [(e.type, e.target) for e in arcs_of(after)["a"].edges] == [("parent", "b")]
    assert after[f"{DAY}/b.md"] == texts[f"{DAY}/b.md"]


def test_what_is_not_changed_stays_byte_for_byte() -> None:
    texts = vault(a=page("a", front="note: 'kept'   # so\n").replace("\n", "\r\n"), b=page("b"))

    after, _ = applied(texts, edges=[edge("a", "b")], summaries=[{"arc": "a", "text": "It worked: well"}])

    text = after[f"{DAY}/a.md"]
    assert "\n" not in text.replace("\r\n", "")
    assert "note: 'kept'   # so\r\n" in text
    kept = [line for line in text.split("\r\n") if "target=b" not in line and not line.startswith("summary:")]
    assert kept == texts[f"{DAY}/a.md"].split("\r\n")
    assert read(text, "").front.text("summary") == "It worked: well"


def test_defect_04_a_cleared_signal_is_the_one_that_was_meant_and_keeps_its_attributes() -> None:
    texts = vault(
        a=page("a", body=ALARM.format("auth", "logins fail\non two lines") + ALARM.format("auth-broker", "bans rise")),
        b=page("b", body=ALARM.format("auth", "logins fail\non two lines")),
        c=page("c", body=ALARM.format("auth-broker", "bans rise")),
    )

    after, made = applied(texts, signals=[{"op": "clear", "source": "auth", "reason": "key rotated"}])

    assert made.done == ("signals[0]",)
    arcs = arcs_of(after)
    first, other = arcs["a"].signals
    assert (first.severity, first.source, first.verify) == ("resolved", "auth", "ping")
    assert first.content == "logins fail (CLEARED: key rotated)\non two lines"
    assert first.cleared
    assert (other.severity, other.source) == ("warning", "auth-broker")
    assert arcs["b"].signals[0].severity == "resolved"
    assert after[f"{DAY}/c.md"] == texts[f"{DAY}/c.md"]


def test_an_escalated_signal_keeps_its_words() -> None:
    texts = vault(a=page("a", body=ALARM.format("disk", "full")))

    after, _ = applied(
        texts,
        signals=[{"op": "escalate", "signal": identity("disk", "full"), "source": "disk", "severity": "critical"}],
    )

    assert after[f"{DAY}/a.md"] == texts[f"{DAY}/a.md"].replace("severity=warning", "severity=critical")


def test_a_synthesis_fills_the_sections_of_its_arc() -> None:
    texts = vault(a=page("a", front="synthesized: false\n"))
    told = {"arc": "a", "timeline": ["found it", "fixed it"], "lessons": ["Look twice."], "resolution": "Shipped."}

    after, _ = applied(texts, syntheses=[told])

    text = after[f"{DAY}/a.md"]
    assert arcs_of(after)["a"].synthesized
    assert "### Completed\n\n- found it\n- fixed it\n\n### Errors" in text
    assert "### Resolution\n\nShipped.\n\n## Lessons" in text
    assert "<!-- synthesized" not in text
    assert [each.content for each in parse(text, "").markers if each.type == "lesson"] == ["Look twice."]


@pytest.mark.parametrize("broken", ["---\n: : :\n  - [\n", "open fence"])
def test_a_page_that_cannot_be_changed_costs_no_other(broken: str) -> None:
    bad = page("a", body="```\nnever closed\n") if broken == "open fence" else broken + page("a")[4:]
    texts = vault(a=bad, b=page("b"))
    items: dict[str, Any] = {
        "syntheses": [{"arc": "a", "timeline": ["x"]}, {"arc": "b", "timeline": ["y"]}],
    }

    after, made = applied(texts, **items)

    assert made.done == ("syntheses[1]",)
    assert after[f"{DAY}/a.md"] == bad


def test_what_left_or_came_meanwhile_is_told() -> None:
    texts = vault(a=page("a"), b=page("b"))
    accepted = judge(from_items({"edges": [edge("a", "b")]}), known_of(arcs_of(texts).values()))

    gone, outcome = written(accepted, vault(a=page("a")))
    assert gone == vault(a=page("a"))
    assert outcome.refused[0].reason == "the arc b is not there any more"

    _, outcome = written(accepted, vault(a=page("a", body="<!-- @edge type=child target=b -->\n"), b=page("b")))
    assert outcome.refused[0].reason == "this arc has an edge to that one"


NAMES = ["a", "b", "c", "d"]
NAME = st.sampled_from(NAMES)
ITEMS = st.fixed_dictionaries(
    {
        "edges": st.lists(
            st.fixed_dictionaries({"source": NAME, "type": st.sampled_from(["parent", "related"]), "target": NAME}),
            max_size=4,
        ),
        "merges": st.lists(st.fixed_dictionaries({"keep": NAME, "absorb": NAME, "title": st.just("T")}), max_size=2),
        "splits": st.lists(
            st.fixed_dictionaries(
                {
                    "arc": NAME,
                    "into": st.just([{"title": "One", "sessions": ["t-a"]}, {"title": "Two", "sessions": ["s-a"]}]),
                }
            ),
            max_size=1,
        ),
        "signals": st.lists(
            st.fixed_dictionaries({"op": st.just("clear"), "source": st.sampled_from(["x", "y"])}), max_size=2
        ),
        "summaries": st.lists(st.fixed_dictionaries({"arc": NAME, "text": st.just("Sum: it")}), max_size=2),
        "syntheses": st.lists(
            st.fixed_dictionaries({"arc": NAME, "timeline": st.just(["t"]), "lessons": st.just(["l"])}), max_size=2
        ),
    }
)


@settings(deadline=None, max_examples=examples(60))
@given(ITEMS)
def test_an_answer_applied_twice_changes_nothing_more(items: dict[str, Any]) -> None:
    texts = vault(
        **{
            name: page(name, body=ALARM.format("xyxy"["abcd".index(name)], "same"), sessions="[s-{0}, t-{0}]")
            for name in NAMES
        }
    )

    accepted = judge(from_items(items), known_of(arcs_of(texts).values()))

    once, first = written(accepted, texts)
    twice, again = written(accepted, once)

    assert twice == once
    assert not again.done
    assert not first.refused
    assert all(not arc.problems for arc in arcs_of(once).values())


@given(st.text(alphabet="#` \nEdgs-a", max_size=80), st.sampled_from(["Edges", "Lessons"]))
def test_adding_keeps_all_that_was_there(body: str, title: str) -> None:
    if Quoted(Lines(body)).unclosed is not None:
        with pytest.raises(Invalid, match="never closed"):
            add(body, title, ["- new"])
        return

    after = add(body, title, ["- new"])

    words = [line.strip() for line in after.split("\n") if line.strip() and line.strip() != "- new"]
    before = [line.strip() for line in body.split("\n") if line.strip()]
    assert words == before or [word for word in words if word != f"## {title}"] == before
    assert after.count("- new") == body.count("- new") + 1
