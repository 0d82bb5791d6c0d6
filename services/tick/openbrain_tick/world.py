"""The world around a vault: what stands in the database and what probes say, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openbrain.domain.signals.values import Signal
from openbrain.vault.pages.alarm import Alarm


@dataclass(frozen=True, slots=True)
class OpenIncidents:
    """The signals that burn, and what became of those whose incidents are not closed."""

    open_signals: Sequence[Signal]
    ended: Mapping[str, Signal | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """`ended`: identity of a mark -> why its signal is over; `rows`: identity -> id of its signal in the database;
    `alarm` and `incidents`: what stands there; `probes`: by name."""

    ended: Mapping[str, str]
    rows: Mapping[str, str]
    alarm: Alarm | None
    incidents: OpenIncidents
    probes: Mapping[str, bool]
