"""Settings for streams of another system whose events become signals."""

from pydantic import Field

from openbrain.domain.signals.values import Severity
from openbrain.settings.groups import Group
from openbrain.settings.tuning import EventsTuning

_SEVERITIES = {
    "severity": {item.value: item for item in (Severity.WARNING, Severity.CRITICAL, Severity.NUCLEAR)},
    "priority": {"urgent": Severity.CRITICAL, "high": Severity.CRITICAL},
}


class Events(Group):
    """Streams of another system (`events:health` and its like), whose entries are plain fields. Off by default."""

    streams: dict[str, str] = Field(
        default_factory=dict,
        description="Full name of a stream (without the prefix of `streams.prefix`) to the workspace in which it "
        "raises signals.",
    )
    severities: dict[str, dict[str, Severity]] = Field(
        default_factory=lambda: _SEVERITIES,
        description="Field of an entry, then its value in lower case, to a severity; the highest counts. An entry "
        "without one is ignored.",
    )
    words: dict[str, Severity] = Field(
        default_factory=dict,
        description="Whole word, in lower case, in an entry's text to a severity. Guesswork, so empty by default.",
    )
    source: tuple[str, ...] = Field(
        ("source", "host", "domain"), description="Fields for the source: the first one present."
    )
    title: tuple[str, ...] = Field(("title", "event"), description="Fields for the title.")
    content: tuple[str, ...] = Field(("message",), description="Fields for the content.")
    dedup: tuple[str, ...] = Field(
        (), description="Fields that together identify the same signal; none: its source and content."
    )
    tuning: EventsTuning = EventsTuning()
