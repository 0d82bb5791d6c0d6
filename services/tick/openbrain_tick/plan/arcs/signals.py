"""Signals in the vault's pages: finds the open ones without duplicates, resolves marks, and removes resolved ones."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.text.displayed import escaped
from openbrain.domain.times import from_iso, to_iso
from openbrain.vault import limits
from openbrain.vault.markers import markers
from openbrain.vault.markers.posted_markers import is_signal_page
from openbrain.vault.pages.arc_parsing import NO_SOURCE, RESOLVED, SEVERITIES
from openbrain.vault.pages.arcs import Arc, SignalMark, identity
from openbrain.vault.values import Marker
from openbrain_tick.plan.arcs.graduate import GRADUATED
from openbrain_tick.plan.arcs.heat import older
from openbrain_tick.plan.plan import Plan

CLEARED: Final = "(CLEARED:"
GRAVE: Final = frozenset({"critical", "nuclear"})
_ENDED = frozenset({RESOLVED, GRADUATED})
_COUNTS = (
    "signals_collected",
    "signals_deduped",
    *(f"signals_tombstoned_{why}" for why in ("cleared", "mitigated", "stale")),
    *(f"signals_verified_{how}" for how in ("pass", "fail", "skip")),
)


@dataclass(frozen=True, slots=True)
class PageSignal:
    """An open signal, with the page that contains its mark."""

    mark: SignalMark
    arc: Arc

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Sort key: most severe first, then newest."""
        return (-SEVERITIES.index(self.mark.severity), -self.arc.created_us, self.mark.source, self.mark.content)


def page_signals(plan: Plan, probes: Mapping[str, bool]) -> list[PageSignal]:
    """Signals that have not ended, each identity once, most severe first.

    `probes`: results of the declared probes, by name. A signal whose `verify` names a successful probe has ended. A
    name that is not declared has no effect and is reported.
    """
    mitigated = {source for arc in plan.arcs() if arc.mitigates and arc.status in _ENDED for source in arc.mitigates}
    open_signals: dict[str, PageSignal] = {}
    for name in _COUNTS:
        plan.counts[name] = 0
    for arc in plan.pages.values():
        if not arc.alarms or arc.merged:
            continue
        stale = older(arc, plan.now_us, plan.thresholds.stale_signal_days)
        for mark in arc.signals:
            plan.counts["signals_collected"] += 1
            hidden = _why_hidden(plan, mark, arc, mitigated=mitigated, stale=stale, probes=probes)
            if hidden:
                plan.counts[hidden] += 1
                continue
            shown, name = PageSignal(mark, arc), mark.identity
            other = open_signals.get(name)
            if other is not None:
                plan.counts["signals_deduped"] += 1
            if other is None or shown.order < other.order:
                open_signals[name] = shown
    return sorted(open_signals.values(), key=lambda shown: shown.order)


def _why_hidden(
    plan: Plan, mark: SignalMark, arc: Arc, *, mitigated: set[str], stale: bool, probes: Mapping[str, bool]
) -> str:
    """Name of the count for the reason why the signal is hidden; '' if it is open."""
    if mark.severity == RESOLVED:
        return "signals_tombstoned_cleared"
    if mark.source in mitigated:
        return "signals_tombstoned_mitigated"
    if stale and mark.severity not in GRAVE:
        return "signals_tombstoned_stale"
    if not mark.verify:
        return ""
    holds = probes.get(mark.verify)
    if holds is None:
        plan.counts["signals_verified_skip"] += 1
        plan.problem(arc.path, f"@signal: verify names no probe of the settings: {mark.verify[:60]!r}", mark.line)
    elif holds:
        return "signals_verified_pass"
    else:
        plan.counts["signals_verified_fail"] += 1
    return ""


def remove_cleared(plan: Plan) -> None:
    """Remove signals from their pages `tombstone_after_s` after they were cleared (`CLEARED` is in their content).

    A mark without the time of its clearing is from an earlier tick of another system, and is removed at once. These
    stay, hidden: marks that people resolved without `CLEARED`, marks that contain others, and the mark of a page made
    for one signal (the page gets the status resolved).
    """
    for arc in list(plan.pages.values()):
        if is_signal_page(arc.path):
            over = not arc.problem_count and all(mark.severity == RESOLVED for mark in arc.signals)
            if arc.status == "active" and over:
                plan.edit(arc, {"status": RESOLVED})
        elif arc.alarms and any(_is_over(plan, mark.severity, mark.content, mark.cleared) for mark in arc.signals):
            plan.counts["signals_removed"] += _change(
                plan, arc, lambda marker: "" if _is_over(plan, *_state(marker)) else None, quiet=True
            )


def resolve_marks(plan: Plan, ended: Mapping[str, str]) -> int:
    """Resolve signals in all pages, by exact identity -> reason; the number of marks changed."""
    if not ended:
        return 0
    reasons = {
        name: re.sub(r"(?:\s|--+)+", " ", escaped(reason, lambda _: "")).strip(" ()")[:200]
        for name, reason in ended.items()
    }
    return _change_all(plan, reasons.keys(), lambda marker: _resolved(marker, reasons[_identity(marker)], plan.now_us))


def change_severity(plan: Plan, severities: Mapping[str, str]) -> int:
    """Change the severity of signals in all pages, by exact identity; the number of marks changed."""

    def regraded(marker: Marker) -> str | None:
        attrs = {**marker.attrs, "severity": severities[_identity(marker)]}
        return None if attrs == marker.attrs else markers.render(replace(marker, attrs=attrs))

    return _change_all(plan, severities.keys(), regraded)


def _change_all(plan: Plan, identities: Collection[str], new: Callable[[Marker], str | None]) -> int:
    def stands(marker: Marker) -> bool:
        return _state(marker)[0] != RESOLVED and _identity(marker) in identities

    return sum(
        _change(plan, arc, lambda marker: new(marker) if stands(marker) else None)
        for arc in [arc for arc in plan.pages.values() if arc.alarms and not arc.merged]
        if any(mark.severity != RESOLVED and mark.identity in identities for mark in arc.signals)
    )


def _identity(marker: Marker) -> str:
    return identity(marker.attrs.get("source") or NO_SOURCE, marker.content)


def _resolved(marker: Marker, reason: str, now_us: int) -> str:
    # Keep the other attributes, and say in the first line that the signal is over.
    first, line_break, rest = marker.content.partition("\n")
    attrs = {**marker.attrs, "severity": RESOLVED, "cleared": to_iso(now_us)}
    return markers.render(replace(marker, attrs=attrs, content=f"{first} {CLEARED} {reason}){line_break}{rest}"))


def _state(marker: Marker) -> tuple[str, str, str]:
    return marker.attrs.get("severity", "").lower(), marker.content, marker.attrs.get("cleared", "")


def _is_over(plan: Plan, severity: str, content: str, cleared: str) -> bool:
    if severity != RESOLVED or CLEARED not in content or "<!--" in content:
        return False
    since = from_iso(cleared)
    return since is None or plan.now_us - since >= plan.thresholds.tombstone_after_s * MICROSECONDS


def _change(plan: Plan, arc: Arc, new: Callable[[Marker], str | None], *, quiet: bool = False) -> int:
    """Replace each signal of a page for which `new` returns a text; '' removes its lines. The number replaced."""
    count = 0

    def changed(body: str) -> str:
        nonlocal count
        # Each round changes the outer marks first; nested ones follow in the next round.
        for _ in range(limits.MARKER_DEPTH + 1):
            wanted = _wanted(body, arc.path, new)
            count += len(wanted)
            for marker, text in reversed(wanted):
                body = markers.replaced(body, marker, text) if text else _without(body, marker)
            if not wanted:
                break
        return body

    edited = plan.edit(arc, {}, body=changed, quiet=quiet)
    return count if edited is not arc else 0


def _wanted(body: str, path: str, new: Callable[[Marker], str | None]) -> list[tuple[Marker, str]]:
    wanted: list[tuple[Marker, str]] = []
    for marker in markers.parse(body, path).markers:
        inside = wanted and marker.start < wanted[-1][0].end
        if marker.type == "signal" and marker.block and not inside and (text := new(marker)) is not None:
            wanted.append((marker, text))
    return wanted


def _without(body: str, marker: Marker) -> str:
    """Remove the marker with its lines, and one of the two blank lines around it."""
    before, behind = body[: marker.start], body[marker.end :]
    if behind.startswith("\n") and (not before or before.endswith("\n")):
        behind = behind[1:]
        if behind.startswith("\n") and (not before or before.endswith("\n\n")):
            behind = behind[1:]
    return before + behind
