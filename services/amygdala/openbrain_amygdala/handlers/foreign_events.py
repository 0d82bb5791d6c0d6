"""Turns events of other systems into signals. The settings map their fields; events without a severity are ignored."""

import re
from collections.abc import Mapping, Sequence

import structlog

from openbrain.domain import limits
from openbrain.domain.errors import Invalid, OpenBrainError
from openbrain.domain.events.data import ForeignEvent, SignalRaised
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.rules import checked
from openbrain.domain.signals.values import Raise, Severity
from openbrain.domain.text.control_characters import cleaned
from openbrain.ports.content import ContentPolicy
from openbrain.ports.store.signals import Signals
from openbrain.settings.events import Events
from openbrain.usecases.content.admission import admitted_raise
from openbrain_amygdala.handlers.signal_raised import Entry, happened, raise_counted

_log = structlog.get_logger(__name__)
_WORD = re.compile(r"\w+")
_TITLE = 255
Foreign = Entry[ForeignEvent]
"""An entry of another system's stream; the event's source is the stream's name."""


async def raise_foreign(
    events: Sequence[Foreign], *, signals: Signals, rules: Events, now: int, content_policy: ContentPolicy
) -> None:
    """Raise the events of a batch that are signals. `now`: microseconds.

    Refused events are logged and do not become dead letters: the stream is not ours and keeps its own entries.
    """
    await content_policy.ready()
    raises: list[Raise] = []
    for event in events:
        try:
            given = as_raise(event, rules, now)
            raises += [admitted_raise(given, content_policy)] if given else []
        except OpenBrainError as error:
            _log.warning("events.refused", stream=event.event.source, entry=event.id, message=str(error))
    for outcome in await raise_counted(raises, signals=signals):
        if outcome.error is not None:
            _log.warning("events.not_raised", error=type(outcome.error).__name__, message=str(outcome.error))


def as_raise(foreign: Foreign, rules: Events, now: int) -> Raise | None:
    """The event as a raise; None if it is not a signal or is too old. `Invalid` if it is a signal without a title."""
    at, fields, stream = happened(foreign.id, now), foreign.event.data.fields, foreign.event.source
    severity = severity_of(fields, rules)
    if severity is None or now - at > rules.tuning.max_age_s * MICROSECONDS:
        return None
    title = _first(fields, rules.title)[:_TITLE].strip()
    if not title:
        raise Invalid("title", f"none of the fields {', '.join(rules.title)} says anything")
    data = SignalRaised(
        workspace_id=rules.streams[stream],
        source=_first(fields, rules.source)[: limits.SOURCE_CHARS].strip() or stream,
        severity=severity,
        title=title,
        content=_first(fields, rules.content)[: limits.CONTENT_CHARS],
        dedup_key=joined_hash(*(fields.get(name, "") for name in rules.dedup)) if rules.dedup else None,
    )
    return checked(data, actor=stream, at=at, key=joined_hash("event", stream, foreign.id))


def severity_of(fields: Mapping[str, str], rules: Events) -> Severity | None:
    """The highest severity that the event's fields, or words in its texts, map to; None if none does."""
    meant = [values.get(fields.get(name, "").strip().lower()) for name, values in rules.severities.items()]
    if rules.words:
        text = " ".join(fields.get(name, "") for name in ("event", *rules.title, *rules.content))
        meant += [rules.words.get(word) for word in _WORD.findall(text.lower())]
    return max((item for item in meant if item is not None), key=lambda item: item.rank, default=None)


def _first(fields: Mapping[str, str], names: Sequence[str]) -> str:
    texts = (cleaned(fields.get(name, "")) for name in names)
    return next((text for text in texts if text.strip()), "")
