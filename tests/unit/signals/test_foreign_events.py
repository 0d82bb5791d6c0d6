"""Events of another system: data defines which of them are signals, and nothing is guessed unless requested."""

from dataclasses import dataclass
from typing import Any

import pytest

from openbrain.domain.errors import Invalid
from openbrain.domain.events.data import ForeignEvent
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.streams import StreamSpec
from openbrain.domain.signals.values import Severity
from openbrain.settings.events import Events
from openbrain.streams.group.delivery import Entry
from openbrain.streams.group.subscription import as_event
from openbrain_amygdala.handlers.foreign_events import as_raise

STREAM = "site:events:health"
NOW_MS = 1_800_000_000_000
RULES = Events(streams={STREAM: "w1"})
SPEC = StreamSpec(name=STREAM, data=ForeignEvent, published_by="another system", foreign=True)


@dataclass
class Came:
    """An entry as the service passes it to a handler."""

    id: str
    event: CloudEvent[Any]


def came(fields: dict[str, str], at_ms: int = NOW_MS) -> Came:
    """Decode the entry from the bytes that would be read from the stream."""
    entry = Entry(f"{at_ms}-0", [part.encode() for pair in fields.items() for part in pair])
    return Came(entry.id, SPEC.decoder()(as_event(SPEC, entry)))


def severity(rules: Events = RULES, **fields: str) -> Severity | None:
    found = as_raise(came({"title": "something", **fields}), rules, NOW_MS * 1000)
    return None if found is None else found.severity


def test_an_event_is_told_as_its_fields_say() -> None:
    fields = {"event": "disk.full", "source": "nas", "host": "h1", "severity": "Critical", "message": "sda1 at 95 %"}
    found = as_raise(came(fields), RULES, NOW_MS * 1000)

    assert found is not None
    assert (found.workspace_id, found.source, found.title) == ("w1", "nas", "disk.full")
    assert (found.severity, found.content, found.halts) == (Severity.CRITICAL, "sda1 at 95 %", False)
    assert (found.at, found.actor) == (NOW_MS * 1000, STREAM)


def test_what_another_system_colours_its_words_with_is_left_out() -> None:
    fields = {"event": "\x1b[31mdisk\x07.full\x9b0m", "source": "n\x85as", "severity": "critical"}
    found = as_raise(came({**fields, "message": "sda1\x00 at\n95 %"}), RULES, NOW_MS * 1000)

    assert found is not None
    assert (found.source, found.title) == ("nas", "[31mdisk.full0m")
    assert (found.severity, found.content) == (Severity.CRITICAL, "sda1 at\n95 %")


@pytest.mark.parametrize(
    "text", ["markdown rebuilt", "download complete", "countdown", "it is down, offline, fatal: data loss, nuclear"]
)
def test_words_mean_nothing_by_themselves(text: str) -> None:
    assert severity(event=text, message=text, priority="default") is None


def test_words_mean_what_somebody_says_and_are_whole() -> None:
    rules = RULES.model_copy(update={"words": {"down": Severity.CRITICAL}})

    assert severity(rules, message="The host is DOWN.") is Severity.CRITICAL
    assert severity(rules, message="markdown, download, countdown") is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"severity": "info"}, None),
        ({}, None),
        ({"severity": "warning"}, Severity.WARNING),
        ({"severity": "nuclear"}, Severity.NUCLEAR),
        ({"priority": "urgent"}, Severity.CRITICAL),
        ({"severity": "nuclear", "priority": "high"}, Severity.NUCLEAR),
        ({"severity": "warning", "priority": "high"}, Severity.CRITICAL),
    ],
)
def test_the_strongest_that_a_field_stands_for_counts(fields: dict[str, str], expected: Severity | None) -> None:
    assert severity(RULES, **fields) is expected


def test_history_from_before_the_first_start_burns_no_more() -> None:
    fields = {"title": "old", "severity": "critical"}

    assert as_raise(came(fields, NOW_MS - 3_600_001), RULES, NOW_MS * 1000) is None
    assert as_raise(came(fields, NOW_MS - 3_599_000), RULES, NOW_MS * 1000) is not None


def test_the_same_signal_is_told_by_the_fields_that_settings_name() -> None:
    rules = RULES.model_copy(update={"dedup": ("event", "host")})

    def key(**fields: str) -> str:
        found = as_raise(came({"title": "t", "severity": "warning", **fields}), rules, NOW_MS * 1000)
        assert found is not None
        return found.dedup_key

    assert key(event="a", host="b", message="1") == key(event="a", host="b", message="2")
    assert key(event="a", host="b") != key(event="ab", host="")


def test_what_says_nothing_or_is_no_text_harms_nobody() -> None:
    with pytest.raises(Invalid, match="none of the fields"):
        as_raise(came({"severity": "critical", "message": "x"}), RULES, NOW_MS * 1000)
    entry = Entry("1-0", [b"title", b"\xff\xfe", b"severity", b"critical", b"message", b"x" * 200_000])
    found = as_raise(Came("1-0", SPEC.decoder()(as_event(SPEC, entry))), RULES, 1000)
    assert found is not None
    assert len(found.content) <= 50_000
