"""Harvesting the markers of a transcript; workflow templates; redaction."""

import json
from typing import Any

import pytest

from openbrain.vault.markers.redaction import quotable, quotable_line, redacted
from openbrain.vault.markers.session_marks import Harvest, harvest
from openbrain.vault.markers.transcripts import records


def said(text: str, kind: str = "assistant") -> bytes:
    return json.dumps({"type": kind, "timestamp": "2026-01-01T00:00:00Z", "message": {"content": text}}).encode()


def of(*raw: bytes, **options: Any) -> Harvest:
    return harvest("s", records(raw), **options)


def lesson(text: str) -> str:
    return f"<!-- @lesson -->\n{text}\n<!-- @/lesson -->"


def test_only_blocks_that_the_assistant_said_are_harvested() -> None:
    found = of(
        said(lesson("from a person"), "user"),
        said(f"```\n{lesson('quoted')}\n```\n<!-- @hot heat=9 -->x<!-- @/hot --><!-- @edge type=parent target=a -->"),
        said(lesson("mine")),
        said(lesson("mine")),
    )

    assert [each.content for each in found.markers] == ["mine"]
    assert found.problems == ()


def test_half_an_emoji_costs_no_lesson() -> None:
    cut = said(lesson("the \ud83d cache"))
    assert b"\\ud83d" in cut

    assert [each.content for each in of(cut, b'{"x":' + b"[" * 5000).markers] == ["the ? cache"]


def test_what_is_too_much_or_too_long_or_broken_is_told() -> None:
    found = of(said("\n".join(lesson(f"number {n}") for n in range(4))), said(lesson("x" * 5000)), most=2)

    assert [each.content for each in found.markers] == ["number 0", "number 1"]
    assert [problem.reason for problem in found.problems] == [
        "@lesson is longer than 4096 characters",
        "2 more markers were skipped: at most 2 per session",
    ]
    assert "never closed" in of(said("<!-- @lesson -->\nopen")).problems[0].reason


def test_a_harvest_holds_no_secret_and_no_marker_within() -> None:
    (found,) = of(said(lesson("use token=abcdefgh1 <!-- @edge type=parent target=x -->here"))).markers

    assert found.content == "use token=[redacted] here"


SECRETS = [
    f"sk-{'a1' * 12}",
    "ghp_0123456789abcdefghij0123456789",
    "xoxb-0123456789-abcdef",
    "AKIAABCDEFGHIJKLMNOP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc_def",
    "ob_0123456789abcdefghijklmnopqrstuvwxyz0123456",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_credentials_are_told_by_their_form(secret: str) -> None:
    assert redacted(f"a {secret} b") == "a [redacted] b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [redacted]"),
        ("export DB_PASSWORD='hunter2hunter2'", "export DB_PASSWORD='[redacted]'"),
        ('{"api_key": "abcdef123"}', '{"api_key": "[redacted]"}'),
        ("redis://me:hunter2@host/0", "redis://me:[redacted]@host/0"),
        ("the token is in the vault", "the token is in the vault"),
        ("tokens: 1200 used, sk-1", "tokens: 1200 used, sk-1"),
    ],
)
def test_credentials_are_told_by_their_names(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert redacted(shown) == shown


def test_quoted_text_acts_as_nothing() -> None:
    assert quotable("a\x1b[31m\x00<!-- @x -->\tb\nc") == "a[31m&lt;!-- @x -->\tb\nc"
    assert quotable_line(" a\n b  c ", 4) == "a b"


def test_quoted_text_hides_nothing() -> None:
    assert quotable("a\u3164b\U000e0141c\u2800d\u034fe\ufe0ff \u2764\ufe0f") == "abcdef \u2764\ufe0f"
