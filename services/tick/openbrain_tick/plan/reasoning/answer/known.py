"""The arcs and signals of a vault, against which a model's answer is checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openbrain.vault.pages.arc_parsing import RESOLVED, SEVERITIES
from openbrain.vault.pages.arcs import Arc


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownArc:
    """An arc that is not merged into another."""

    sessions: tuple[str, ...] = ()
    targets: frozenset[str] = frozenset()
    """Ids of the targets of its edges."""
    summarised: bool = False
    synthesised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSignal:
    """A signal of the vault that has not ended."""

    source: str
    severity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Arcs by id; signals by identity (from source and content)."""

    arcs: Mapping[str, KnownArc]
    signals: Mapping[str, KnownSignal]


def known_of(arcs: Iterable[Arc]) -> Known:
    """The signals of all pages of a vault, and its arcs."""
    unmerged = [arc for arc in arcs if not arc.merged]
    signals: dict[str, KnownSignal] = {}
    for arc in unmerged:
        for mark in arc.signals:
            if mark.severity == RESOLVED:
                continue
            name = mark.identity
            # If a signal is in several pages, its highest severity counts.
            if name not in signals or SEVERITIES.index(mark.severity) > SEVERITIES.index(signals[name].severity):
                signals[name] = KnownSignal(source=mark.source, severity=mark.severity)
    known = {
        arc.id: KnownArc(
            sessions=arc.sessions,
            targets=frozenset(arc.links),
            summarised=bool(arc.summary),
            synthesised=arc.synthesized,
        )
        for arc in unmerged
        if arc.ranked
    }
    return Known(arcs=known, signals=signals)
