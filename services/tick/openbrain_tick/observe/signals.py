"""Raises the signals of pages in the database, and runs the probes that the settings declare."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from openbrain.domain.errors import Invalid
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.limits import CONTENT_CHARS
from openbrain.domain.signals.rules import TIME, checked
from openbrain.domain.signals.values import Present, Raise, Severity
from openbrain.domain.text.control_characters import cleaned, cleaned_line
from openbrain.ports.content import ContentPolicy
from openbrain.ports.http import Prober
from openbrain.ports.store.signals import RaiseStatus, Signals
from openbrain.usecases.content.admission import admitted_raise
from openbrain.vault.markers.redaction import redacted
from openbrain.vault.pages.alarm import Alarm, alarm
from openbrain.vault.pages.arcs import raise_key
from openbrain_tick.plan.arcs.signals import PageSignal

RAISES = 500
"""Maximum number of raises per tick, most severe first."""
ACTOR = "tick"
ALARMS = 100
"""Maximum number of signals in an alarm."""


async def raise_signals(
    shown: Sequence[PageSignal],
    workspace_id: str,
    signals: Signals,
    now_us: int,
    held_us: int,
    content_policy: ContentPolicy,
) -> tuple[dict[str, str], dict[str, str]]:
    """Raise the signals of pages, and keep them alive for `held_us`. A mark is raised once, however many ticks see it.
    A signal that expired is raised again, because its mark is still there.

    Returns `ended` and `rows` of `World`. `ended`: marks to resolve, because somebody ended their signals in the
    database.
    """
    await content_policy.ready()
    marks = [item for item in shown[:RAISES] if item.mark.severity in set(Severity)]
    raises = [(mark, made) for mark in marks if (made := _raise(mark, workspace_id, now_us, held_us)) is not None]
    raises = [(item, admitted_raise(made, content_policy)) for item, made in raises]
    ended: dict[str, str] = {}
    rows: dict[str, str] = {}
    while raises:
        outcomes = await signals.raise_signals([made for _, made in raises])
        again: list[tuple[PageSignal, Raise]] = []
        for (page_mark, made), outcome in zip(raises, outcomes, strict=True):
            signal = outcome.signal
            if signal is not None and signal.state.open:
                rows[page_mark.mark.identity] = signal.id
            elif signal is not None and signal.ended_by == TIME:
                again.append((page_mark, replace(made, key=f"{made.key}:{signal.id}")))
            elif signal is not None and outcome.status is RaiseStatus.DUPLICATE:
                ended[page_mark.mark.identity] = signal.note or f"{signal.state} by {signal.ended_by or ACTOR}"
        raises = again
    return ended, rows


def _raise(shown: PageSignal, workspace_id: str, now_us: int, held_us: int) -> Raise | None:
    mark = shown.mark
    parsed = _parsed(workspace_id, mark.severity, mark.source, mark.content, mark.project or shown.arc.project)
    if parsed is None:
        return None
    return replace(parsed, at=now_us, key=raise_key(shown.arc, mark), held_until=now_us + held_us)


# Cached, because marks stay the same from tick to tick.
@lru_cache(maxsize=4 * RAISES)
def _parsed(workspace_id: str, severity: str, source: str, content: str, project: str) -> Raise | None:
    """The raise of a mark, without its time; None if it is not valid."""
    source = cleaned_line(source)[:255]
    # Cut rather than not raised: the page has the whole text.
    content = redacted(cleaned(content).strip())[:CONTENT_CHARS]
    title = content.partition("\n")[0].strip()[:255] or source
    try:
        data = SignalRaised(
            workspace_id=workspace_id,
            source=source,
            severity=Severity(severity),
            title=title,
            content=content,
            project=cleaned_line(project)[:255] or None,
        )
        return checked(data, actor=ACTOR, at=0)
    except (Invalid, ValueError):
        return None


def alarm_of(present: Present) -> Alarm | None:
    """The alarm for the open signals and halts; None if there is no reason for one."""
    return alarm(present.signals[:ALARMS], present.halts)


async def probed(prober: Prober, declared: Mapping[str, str], shown: Sequence[PageSignal]) -> dict[str, bool]:
    """Run the declared probes that a mark names; their results by name."""
    wanted = {item.mark.verify for item in shown if item.mark.verify in declared}
    return {name: await prober.check(declared[name]) for name in sorted(wanted)}
