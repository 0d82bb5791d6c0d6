"""Texts that a pattern could read again from each of their places.

Quadratic work would not end here within a test's time limit.
"""

import pytest

from openbrain.domain.memory import names_of
from openbrain.domain.text.duplicates.canonical import canonical_sentences
from tests.support.indexes.entries import memory

SPACES = " " * 190


def test_a_heading_with_many_spaces_is_read_once() -> None:
    rows = [memory(content=f"# a{SPACES}{number} ##  \nIt began at six.") for number in range(20_000)]
    assert [names_of(row) for row in rows[:2]] == [(f"a{SPACES}0",), (f"a{SPACES}1",)]
    assert sum(len(names_of(row)) for row in rows) == len(rows)


@pytest.mark.parametrize("line", ["# a #", "# a # ##", "#\ta\t#\t", "# a", "   ## a #"])
def test_a_heading_is_named_without_its_closing_marks(line: str) -> None:
    assert names_of(memory(content=f"{line}\nIt began at six.")) == ("a #" if line == "# a # ##" else "a",)


@pytest.mark.parametrize("text", ["1.." * 100_000, f"a. {' ' * 300_000}b, c"], ids=["dots", "spaces"])
def test_a_long_text_is_compared_in_one_pass(text: str) -> None:
    assert len(canonical_sentences(text)) == 1


@pytest.mark.parametrize("text", ["  Stop it", "A rule; stop it"])
def test_what_comes_first_and_what_is_newer_are_understood(text: str) -> None:
    (*_, sentence) = canonical_sentences(f"{text} first, then take 3.2 or newer")
    words = [token.text for token in sentence]
    assert words[words.index("first") + 1] == "stop"
    assert words[words.index("\u2265") + 1] == "3.2"
