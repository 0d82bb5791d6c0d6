"""The ports of a tick."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from openbrain.ports.clock import Clock
from openbrain.ports.content import ContentPolicy
from openbrain.ports.http import Prober
from openbrain.ports.models import Reasoner
from openbrain.ports.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports and options of a tick. Without a `reasoner` no model is asked; without `transcripts` nothing is
    extracted."""

    store: Store
    clock: Clock
    content_policy: ContentPolicy
    reasoner: Reasoner | None
    prober: Prober
    probes: Mapping[str, str]
    prompt_chars: int
    transcripts: Path | None
    since_h: float
    min_turns: int
    forget_share: float
    held_us: int
    """How long a mark keeps its signal alive after a tick has seen it, in microseconds; longer than the interval
    between ticks."""
