"""The halts in force for one agent."""

from collections.abc import Iterable

from openbrain.domain.events.data import Broadcast
from openbrain.domain.signals.values import Halt, HaltScope, HaltState


class Halts:
    """Open halts, from broadcasts in any order: for each halt the broadcast with the highest number counts."""

    def __init__(self, org: str = "", project: str = "") -> None:
        self._org, self._project = org, project
        self._known: dict[str, tuple[int, Halt | None]] = {}
        self._floor = 0

    @property
    def standing(self) -> tuple[Halt, ...]:
        """Open halts, by id."""
        return tuple(sorted((halt for _, halt in self._known.values() if halt), key=lambda halt: halt.id))

    def apply(self, broadcast: Broadcast) -> None:
        """Apply the broadcast's halt, if it has one."""
        if broadcast.halt_id is None:
            return
        halt = halt_of(broadcast)
        stands = halt.state is HaltState.OPEN and halt.concerns(self._org, self._project)
        before, _ = self._known.get(halt.id, (self._floor, None))
        if broadcast.seq > before:
            self._known[halt.id] = (broadcast.seq, halt if stands else None)

    def present(self, seq: int, halts: Iterable[Halt], *, rewound: bool = False) -> None:
        """Set the halts open at `seq`. `rewound`: the database was restored, so what was received after `seq` no longer
        counts."""
        later = {} if rewound else {name: known for name, known in self._known.items() if known[0] > seq}
        here = [halt for halt in halts if halt.concerns(self._org, self._project)]
        self._known = {**{halt.id: (seq, halt) for halt in here}, **later}
        self._floor = seq if rewound else max(seq, self._floor)


def halt_of(broadcast: Broadcast) -> Halt:
    """Return the halt as far as a broadcast describes it; times are left out."""
    return Halt(
        id=broadcast.halt_id or "",
        workspace_id="",
        signal_id=broadcast.signal_id,
        scope=broadcast.halt_scope or HaltScope.WORKSPACE,
        org=broadcast.org or "",
        project=broadcast.project or "",
        state=broadcast.halt_state or HaltState.OPEN,
        title=broadcast.title,
        raised_at=0,
        seq=broadcast.seq,
    )
