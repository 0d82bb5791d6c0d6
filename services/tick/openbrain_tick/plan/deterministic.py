"""The deterministic part of a tick, from the inbox to the feed: `tidy`, then other edits of pages, then `publish`.

A second pass at the same time changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openbrain.domain.signals.values import Signal
from openbrain.vault.pages.alarm import Alarm
from openbrain.vault.pages.arcs import InjectMark
from openbrain_tick.plan.arcs.cluster import update_status
from openbrain_tick.plan.arcs.graduate import update_heat
from openbrain_tick.plan.arcs.inbox import file_inbox
from openbrain_tick.plan.arcs.references import promote
from openbrain_tick.plan.arcs.signals import PageSignal, page_signals, remove_cleared, resolve_marks
from openbrain_tick.plan.feed import feed_files
from openbrain_tick.plan.feed.dashboards import dashboards
from openbrain_tick.plan.feed.health import Health, health
from openbrain_tick.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Signals, halts and incidents of a vault's workspace in the database, and the results of probes."""

    ended: Mapping[str, str]
    """Identity of a mark -> why its signal ended."""
    rows: Mapping[str, str]
    """Identity of a mark -> id of its signal."""
    alarm: Alarm | None
    open_signals: Sequence[Signal]
    ended_incidents: Mapping[str, Signal | None]
    """Signal id of each unclosed incident whose signal is no longer open -> the signal; None if it is gone."""
    probes: Mapping[str, bool]
    """Results by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Published signals and injects."""

    signals: Sequence[PageSignal]
    injects: Sequence[InjectMark]
    health: Health


def tidy(plan: Plan, ended: Mapping[str, str]) -> None:
    """Edit pages: inbox, status, heat, graduation, and the marks of `ended` signals (identity -> reason)."""
    file_inbox(plan)
    plan.counts["signals_ended"] += resolve_marks(plan, ended)
    remove_cleared(plan)
    update_status(plan)
    update_heat(plan)


def publish(plan: Plan, probes: Mapping[str, bool], alarm: Alarm | None) -> Published:
    """Plan the files derived from pages: references, feed, dashboards. `probes`: results of the declared ones, by name;
    `alarm`: for the open signals and halts in the database."""
    promote(plan)
    shown, blocks = page_signals(plan, probes), feed_files.injects(plan)
    plan.counts["signals_written"] = len(shown)
    plan.counts["lessons_collected"] = sum(arc.lessons for arc in plan.pages.values() if not arc.merged)
    feed_files.put(plan, feed_files.hot_arcs(plan))
    feed_files.put(plan, feed_files.injected(blocks))
    feed_files.put(plan, feed_files.signalled(shown))
    feed_files.alarmed(plan, alarm)
    dashboards(plan)
    return Published(signals=shown, injects=blocks, health=health(plan, shown))
