"""Arcs merged and split by an answer."""

from openbrain.vault.front_matter.document import read
from openbrain.vault.pages.arc_parsing import parse_arc
from tests.support.vault.reasoning import ALARM, DAY, applied, arcs_of, page, vault

LESSON = "<!-- @lesson -->\nAsk first.\n<!-- @/lesson -->\n"


def test_defect_05_a_merged_arc_gives_away_sessions_edges_and_story_and_ranks_no_more() -> None:
    texts = vault(
        a=page("a", body=LESSON),
        b=page("b", front="heat: 9\n", body=LESSON + "<!-- @edge type=child target=c -->\n" + ALARM.format("x", "y")),
        c=page("c"),
    )

    after, made = applied(texts, merges=[{"keep": "a", "absorb": "b", "title": "Both: at once"}])

    assert made.done == ("merges[0]",)
    arcs = arcs_of(after)
    assert set(arcs) == {"a", "c"}
    kept = arcs["a"]
    assert (kept.title, kept.sessions, kept.tools, kept.joy) == ("Both: at once", ("s-a", "s-b"), 60, 4)
    assert kept.links == ("c",)
    assert [each.content for each in kept.markers if each.type == "lesson"] == ["Ask first."]
    assert [each.source for each in kept.signals] == ["x"]
    assert after[f"{DAY}/a.md"].count("## Merged from b") == 1
    gone = parse_arc(f"{DAY}/b.merged.md", after[f"{DAY}/b.merged.md"], 0)
    assert gone.merged
    assert read(after[f"{DAY}/b.merged.md"], "").front.text("merged_into") == "a"


def test_sessions_that_both_have_are_counted_once() -> None:
    texts = vault(a=page("a", sessions="[one, two]"), b=page("b", sessions="[two]"))

    after, _ = applied(texts, merges=[{"keep": "a", "absorb": "b", "title": "t"}])

    assert arcs_of(after)["a"].sessions == ("one", "two")
    assert arcs_of(after)["a"].tools == 30


def test_defect_05_a_split_is_made() -> None:
    texts = vault(a=page("a", sessions="[one, two, three]"))

    after, made = applied(
        texts,
        splits=[
            {
                "arc": "a",
                "into": [{"title": "First part", "sessions": ["one"]}, {"title": "Second part", "sessions": ["three"]}],
            }
        ],
    )

    assert made.done == ("splits[0]",)
    arcs = arcs_of(after)
    assert len(arcs) == 3
    assert arcs["a"].sessions == ("two",)
    parts = [arcs[each] for each in arcs["a"].links]
    assert [(part.title, part.sessions, part.links) for part in parts] == [
        ("First part", ("one",), ("a",)),
        ("Second part", ("three",), ("a",)),
    ]
    assert all(part.ranked and part.created_us == arcs["a"].created_us and not part.problems for part in parts)
