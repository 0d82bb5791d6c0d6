"""The active alarm as the agents' client shows it: the file amygdala-active.md, and the response of /signal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openbrain.domain.signals.values import Halt, Severity, Signal
from openbrain.domain.text.displayed import plain
from openbrain.domain.times import to_iso
from openbrain.vault.pages.bodies import PARTS, clipped, first_line, fitted

TITLE: Final = "AMYGDALA ALERT"
PRIORITY: Final = 100
TTL_S: Final = 300
_CONTENT_CHARS: Final = 600
_HALTED: Final = "Halt all operations that are not needed to end this alarm, and wait until it is resumed."
_CAUTION: Final = "Caution: go on only with what this does not touch."


@dataclass(frozen=True, slots=True)
class Alarm:
    """The open signals above info and the halts, as one text. `severity`: the highest one; nuclear during a halt."""

    severity: Severity
    body: str
    """At most 1536 characters; unchanged as long as the same signals and halts are open."""
    raised_at: int
    """When the latest of these signals and halts was raised, in microseconds."""


def alarm(signals: Sequence[Signal], halts: Sequence[Halt]) -> Alarm | None:
    """The alarm for a workspace's open signals and halts (`Present`). None without a halt or a signal above info."""
    loud = [signal for signal in signals if signal.broadcast_severity is not Severity.INFO]
    if not loud and not halts:
        return None
    severity = max((item.broadcast_severity for item in loud), key=lambda item: item.rank, default=Severity.WARNING)
    if halts:
        severity = Severity.NUCLEAR
    parts = [_first(loud[0] if loud else None, halts, severity), *map(_also, loud[1 : PARTS + 1])]
    raised = (*(item.last_raised_at for item in loud), *(halt.raised_at for halt in halts))
    return Alarm(severity, fitted(parts, "\n", "alarms", more=len(loud[PARTS + 1 :])), max(raised))


def _first(worst: Signal | None, halts: Sequence[Halt], severity: Severity) -> str:
    title = worst.title if worst else halts[0].title
    lines = [f"## {severity.upper()}: {_short(title, 120) or TITLE}", ""]
    if worst and worst.content.strip() and worst.content.strip() != worst.title.strip():
        lines += [clipped(plain(worst.content).strip(), _CONTENT_CHARS), ""]
    if worst:
        lines += [f"- Source: {_short(worst.source, 60)}", f"- Since: {to_iso(worst.first_raised_at)[:19]}Z"]
        lines += [f"- Affected: {_affected(worst)}"]
    if halts:
        lines += [f"- Halted since: {to_iso(min(halt.raised_at for halt in halts))[:19]}Z"]
    line = {Severity.NUCLEAR: _HALTED, Severity.CRITICAL: _CAUTION}.get(severity)
    # A single part: shown completely, or cut at its end if it is too long on its own.
    return "\n".join([*lines, *(["", line] if line else []), ""])


def _also(signal: Signal) -> str:
    return f"- **[{signal.broadcast_severity}]** ({_short(signal.source, 60)}) {_short(signal.title, 120)}"


def _affected(signal: Signal) -> str:
    return "/".join(_short(name, 60) for name in (signal.org, signal.project) if name) or "everyone"


def _short(text: str, most: int) -> str:
    """The first line of a text, at most `most` characters. Cut after escaping, because escapes make it longer and would
    push out the text after it."""
    return first_line(plain(text), most)
