"""The deterministic part of a tick, from the inbox to the feed: `tidy`, whatever else edits pages, `publish`.

A second pass at the same time changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openbrain.vault.pages.alarm import Alarm
from openbrain.vault.pages.arcs import InjectMark
from openbrain_tick.phases import feed
from openbrain_tick.phases.cluster import age
from openbrain_tick.phases.dashboards import dashboards
from openbrain_tick.phases.graduate import warm
from openbrain_tick.phases.health import Health, health
from openbrain_tick.phases.inbox import drain
from openbrain_tick.phases.inject import injects
from openbrain_tick.phases.plan import Plan
from openbrain_tick.phases.references import promote
from openbrain_tick.phases.signals import Standing, bury, end, standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What stands after the pass."""

    signals: Sequence[Standing]
    injects: Sequence[InjectMark]
    health: Health


def tidy(plan: Plan, ended: Mapping[str, str]) -> None:
    """Pages: inbox, status, heat, graduation, and the marks of signals that ended (identity -> reason)."""
    drain(plan)
    plan.counts["signals_ended"] += end(plan, ended)
    bury(plan)
    age(plan)
    warm(plan)


def publish(plan: Plan, probes: Mapping[str, bool], alarm: Alarm | None) -> Kept:
    """What is made of the pages: references, feed, dashboards. `probes`: results of the declared ones, by name;
    `alarm`: what stands in the truth."""
    promote(plan)
    shown, blocks = standing(plan, probes), injects(plan)
    plan.counts["signals_written"] = len(shown)
    plan.counts["lessons_collected"] = sum(arc.lessons for arc in plan.pages.values() if not arc.merged)
    feed.put(plan, feed.hot_arcs(plan))
    feed.put(plan, feed.injected(blocks))
    feed.put(plan, feed.signalled(shown))
    feed.alarmed(plan, alarm)
    dashboards(plan)
    return Kept(signals=shown, injects=blocks, health=health(plan, shown))
