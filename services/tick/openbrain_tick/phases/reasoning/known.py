"""What a model's answer is held against: the vault as it was when the model was asked."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownArc:
    """An arc that is not merged into another."""

    sessions: tuple[str, ...] = ()
    targets: frozenset[str] = frozenset()
    """Ids that an edge of it leads to."""
    summarised: bool = False
    synthesised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSignal:
    """A signal of the vault that has not ended."""

    source: str
    severity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Arcs by id; signals by identity (of source and content)."""

    arcs: Mapping[str, KnownArc]
    signals: Mapping[str, KnownSignal]
