"""Compares what subscribers received with the database, and the database with what was raised."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.faults.signals.reading import Row, Truth
from tests.faults.verifying.findings import DUPLICATE, GAP, GHOST, LOST, STALE, Finding

RANKS = {"info": 0, "warning": 1, "critical": 2, "nuclear": 3}


@dataclass(frozen=True, slots=True)
class Said:
    """What a broadcast reports of its signal."""

    seq: int
    signal_id: str
    state: str
    severity: str


@dataclass
class Record:
    """What one subscriber received, in order, across reconnects. `begin`: the last number before it joined."""

    name: str
    begin: int = 0
    said: list[Said] = field(default_factory=list)

    @property
    def state(self) -> dict[str, Said]:
        """Return its final state: for each signal, the broadcast with the highest number."""
        newest: dict[str, Said] = {}
        for each in self.said:
            if each.signal_id not in newest or newest[each.signal_id].seq <= each.seq:
                newest[each.signal_id] = each
        return newest


def judge(truth: Truth, raised: Mapping[str, int], records: Iterable[Record]) -> list[Finding]:
    """Return every difference."""
    found = [*_numbers(truth), *_raised(truth, raised)]
    for record in records:
        found += [*_heard(truth, record), *_known(truth.signals, record)]
    return found


def _numbers(truth: Truth) -> list[Finding]:
    holes = set(range(1, truth.top + 1)) - set(truth.broadcasts)
    return [Finding(GAP, f"the truth has no broadcast {seq}") for seq in sorted(holes)]


def _raised(truth: Truth, raised: Mapping[str, int]) -> list[Finding]:
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in truth.signals:
        rows[row.key].append(row)
    found = []
    for key, times in raised.items():
        counted = sum(row.count for row in rows[key])
        if counted < times:
            found.append(Finding(LOST, f"{key} was raised {times} times and counted {counted}"))
        elif counted > times or len(rows[key]) > 1:
            found.append(
                Finding(DUPLICATE, f"{key} was raised {times} times: {len(rows[key])} rows, {counted} counted")
            )
    return found


def _heard(truth: Truth, record: Record) -> list[Finding]:
    heard = {each.seq for each in record.said}
    missing = sorted(set(range(record.begin + 1, truth.top + 1)) - heard)
    beyond = sorted(heard - set(truth.broadcasts))
    found = []
    if missing:
        found.append(Finding(GAP, f"{record.name} did not hear {len(missing)} of {truth.top}, the first {missing[0]}"))
    if beyond:
        found.append(Finding(GHOST, f"{record.name} heard {len(beyond)} that the truth has not, as {beyond[0]}"))
    return found


def _known(rows: Iterable[Row], record: Record) -> list[Finding]:
    known = record.state
    wrong = [row.id for row in rows if row.id in known and _differs(row, known[row.id])]
    return [Finding(STALE, f"{record.name} takes {len(wrong)} signals for what they are not")] if wrong else []


def _differs(row: Row, said: Said) -> bool:
    return row.state != said.state or row.severity != RANKS[said.severity]
