"""Files with long runs of one character are read in linear time. In quadratic time, these tests would exceed their time
limit."""

import pytest

from openbrain_cli.importers.markdown.frontmatter import Page, _quoted
from openbrain_cli.importers.markdown.sections import Section
from openbrain_cli.importers.sources.claude_memory import _lists_topics
from openbrain_cli.importers.sources.note_kinds import _graph

LONG = 300_000


@pytest.mark.parametrize("gap", ["\n" * LONG, "-" + " " * LONG, "- a" + " " * LONG, "- [ab]" + " " * LONG])
def test_relations_and_categories_of_a_note(gap: str) -> None:
    body = f"{gap}\n- needs [[Cache]]\n* [[Prices]]\n- [rule] cents"

    assert _graph(Section("", body)) == {
        "relations": [{"type": "needs", "to": "Cache"}, {"type": "relates_to", "to": "Prices"}],
        "categories": ["rule"],
    }


def test_lines_of_an_index() -> None:
    assert not _lists_topics(Section("", f"- [a]({'.md' * LONG}"))
    assert _lists_topics(Section("", "- [a](a.md)\n- [[b]]\n- `c.md`"))
    assert not _lists_topics(Section("", "- [a](a.txt)\n- [b](.md)"))


def test_values_of_a_frontmatter() -> None:
    assert _quoted(f"a: b{' ' * LONG}c  ") == f'a: "b{" " * LONG}c"'
    assert _quoted("a: 'b'  ") == "a: 'b'  "
    assert Page("", {"paths": "," * LONG}).listed("paths") == ()
    assert Page("", {"paths": "a/*.{ts,tsx}, b,c"}).listed("paths") == ("a/*.{ts,tsx}", "b", "c")
