"""What is printed: remembered text can't control the terminal, and JSON reads back unchanged."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain_cli.memories.display.rendering import shortened
from openbrain_cli.output import as_json, one_line, plain, show, table

HOSTILE = "\x1b[2J\x1b]0;title\x07 \x9b31m a\rb \u202egnp.exe\u2066 \u200bzero\ufeff \U000e0041tag \x00 \x7f"


def seen(text: str) -> bool:
    """True if a terminal only draws the text."""
    return all(unicodedata.category(each) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} or each in "\n\t" for each in text)


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    assert plain("\x1b[31m") == "\\x1b[31m"
    assert plain("\u202e") == "\\u202e"
    assert seen(plain(HOSTILE))
    assert "\n" not in one_line("a\n\n\u2028b\r")


@given(st.text())
def test_nothing_slips_through(text: str) -> None:
    risky = {"Cc", "Zl", "Zp", "Cs"}

    assert all(unicodedata.category(each) not in risky or each in "\n\t" for each in plain(text))
    assert all(each not in plain(text) for each in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


@pytest.mark.parametrize("text", [HOSTILE, "plain", "Ünïcödé 😀 \u200d", "\u2028", '"quoted" \\ back'])
def test_json_is_as_careful_and_loses_nothing(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    as_json({"content": text})
    printed = capsys.readouterr().out

    assert json.loads(printed) == {"content": text}
    assert seen(printed)


@given(st.text(max_size=300), st.integers(1, 80))
def test_a_shortened_text_fits(text: str, width: int) -> None:
    assert len(shortened(text, width)) <= width


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_a_table_in_a_narrow_terminal_loses_nothing(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    row = ("abcdefghijklmnopqrst", "01234", "56789", "UVWXY", "ÄÖÜ", "5m", "Z", "ABCDEFGHIJKLMN")
    show(table("stream", "repl", "lag", "pend", "retry", "age", "dead", "group", rows=[row]))
    printed = capsys.readouterr().out

    assert {each for cell in row for each in cell} - set(printed) == set()
    assert "…" not in printed
