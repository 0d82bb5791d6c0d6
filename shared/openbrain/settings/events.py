"""Settings of streams of another system whose events become signals."""

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
        description="Full name of a stream (no prefix is put before it) to the workspace whose signals it raises.",
    )
    severities: dict[str, dict[str, Severity]] = Field(
        default_factory=lambda: _SEVERITIES,
        description="Field of an entry, then its value in lower case, to the severity that it means; the strongest "
        "counts, and what has none is no signal.",
    )
    words: dict[str, Severity] = Field(
        default_factory=dict,
        description="Whole word, in lower case, of what an entry says to a severity: guessing, so there are none.",
    )
    source: tuple[str, ...] = Field(("source", "host", "domain"), description="Fields for the source: the first given.")
    title: tuple[str, ...] = Field(("title", "event"), description="Fields for the title.")
    content: tuple[str, ...] = Field(("message",), description="Fields for the content.")
    dedup: tuple[str, ...] = Field(
        (), description="Fields that together say that it is the same signal; none: its source and content say it."
    )
    tuning: EventsTuning = EventsTuning()
