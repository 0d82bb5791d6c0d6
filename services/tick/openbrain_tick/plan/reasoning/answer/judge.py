"""Checks each item of an answer against the vault: it is accepted, or refused with a reason."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from openbrain.vault.pages.arc_parsing import SEVERITIES
from openbrain.vault.pages.bodies import clipped
from openbrain_tick.plan.reasoning.answer.items import (
    EDGE_TYPES,
    Answer,
    Edge,
    Intent,
    Item,
    Merge,
    Refused,
    SignalChange,
    Split,
    Summary,
    Synthesis,
)
from openbrain_tick.plan.reasoning.answer.known import Known, KnownSignal

MERGES, SPLITS = 20, 5
"""Maximum number of these changes per answer, so that a person can still review them."""
SUMMARY_CHARS = 400
_SEVERITIES = SEVERITIES[:-1]
"""Severities that a model may set, ascending. The highest one halts the fleet and is reserved for people."""

Taken = TypeVar("Taken", bound=Item)


@dataclass(slots=True)
class _Judging:
    """State of judging one answer: the refused items, and what the accepted ones are about."""

    known: Known
    refused: list[Refused] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    absorbed: set[str] = field(default_factory=set)
    """`kept` and `absorbed`: arcs of accepted merges."""
    done: defaultdict[str, set[object]] = field(default_factory=lambda: defaultdict(set))
    """Keys of the accepted items, by kind."""

    def each(self, items: Mapping[str, Taken], judge: Callable[[Taken], Taken | str]) -> dict[str, Taken]:
        """The accepted items, as returned by `judge`; if it returns a text, the item is refused for that reason."""
        taken: dict[str, Taken] = {}
        for place, item in items.items():
            verdict = judge(item)
            if isinstance(verdict, str):
                self.refused.append(Refused(place, verdict))
            else:
                taken[place] = verdict
        return taken

    def missing(self, *arcs: str) -> str:
        """Why an item is refused if one of these arcs does not exist; otherwise ''."""
        unknown = next((arc for arc in arcs if arc not in self.known.arcs), None)
        return "" if unknown is None else f"no arc has the id {_shown(unknown)}"

    def unusable(self, *arcs: str, besides: Collection[str] = ()) -> str:
        """Why an item is refused if one of these arcs does not exist, is absorbed by a merge of this answer, or is
        among `besides`; otherwise ''."""
        merged = {*self.absorbed, *besides}.intersection(arcs)
        return self.missing(*arcs) or ("a merge of this answer has this arc" if merged else "")

    def merge(self, item: Merge) -> Merge | str:
        if item.keep == item.absorb:
            return "an arc can't absorb itself"
        if why := self.missing(item.keep, item.absorb):
            return why
        if item.absorb in self.kept | self.absorbed or item.keep in self.absorbed:
            return "another merge of this answer has one of these arcs"
        if len(self.absorbed) == MERGES:
            return f"one answer merges {MERGES} times at most"
        self.kept.add(item.keep)
        self.absorbed.add(item.absorb)
        return item

    def split(self, item: Split) -> Split | str:
        if why := self.unusable(item.arc, besides=self.kept):
            return why
        done = self.done["splits"]
        if item.arc in done:
            return "another item splits this arc"
        if len(done) == SPLITS:
            return f"one answer splits {SPLITS} arcs at most"
        if len({part.title.lower() for part in item.into}) < len(item.into):
            return "two parts have one title"
        if not all(part.sessions for part in item.into):
            return "each part must take sessions of the arc"
        sessions = [session for part in item.into for session in part.sessions]
        if len(set(sessions)) < len(sessions):
            return "a session goes into one part only"
        foreign = set(sessions) - set(self.known.arcs[item.arc].sessions)
        if foreign:
            return f"the arc has no session {_shown(min(foreign))}"
        done.add(item.arc)
        return item

    def edge(self, item: Edge) -> Edge | str:
        if item.type not in EDGE_TYPES:
            return f"{_shown(item.type)} is no type of edge: {', '.join(EDGE_TYPES)}"
        if item.source == item.target:
            return "an arc has no edge to itself"
        if why := self.unusable(item.source, item.target):
            return why
        if item.target in self.known.arcs[item.source].targets:
            return "this arc has an edge to that one"
        if (item.source, item.target) in self.done["edges"]:
            return "another item joins the same two arcs"
        self.done["edges"].add((item.source, item.target))
        return item

    def signal(self, item: SignalChange) -> SignalChange | str:
        identity = _identity(item, self.known)
        signal = self.known.signals.get(identity)
        if signal is None:
            return identity
        if identity in self.done["signals"]:
            return "another item changes this signal"
        if why := _unfit(item, signal):
            return why
        self.done["signals"].add(identity)
        return item.model_copy(update={"signal": identity})

    def summary(self, item: Summary) -> Summary | str:
        if why := self.unusable(item.arc):
            return why
        if self.known.arcs[item.arc].summarised or item.arc in self.done["summaries"]:
            return "the arc has a summary"
        if item.text.upper().rstrip(".") == "SKIP":
            return "skipped by the model"
        self.done["summaries"].add(item.arc)
        return item.model_copy(update={"text": clipped(item.text, SUMMARY_CHARS)})

    def synthesis(self, item: Synthesis) -> Synthesis | str:
        if why := self.unusable(item.arc):
            return why
        if self.known.arcs[item.arc].synthesised or item.arc in self.done["syntheses"]:
            return "the arc is synthesised"
        timeline, lessons = (tuple(filter(None, lines)) for lines in (item.timeline, item.lessons))
        if not (timeline or lessons or item.resolution):
            return "says nothing"
        self.done["syntheses"].add(item.arc)
        return item.model_copy(update={"timeline": timeline, "lessons": lessons})

    def intent(self, intent: Intent | None) -> Intent | None:
        """Keep the evidence that exists; report the rest as refused."""
        if intent is None:
            return None
        known = self.known.arcs
        self.refused += [
            Refused(f"intent.evidence[{number}]", self.missing(item))
            for number, item in enumerate(intent.evidence)
            if item not in known
        ]
        return intent.model_copy(update={"evidence": tuple(item for item in intent.evidence if item in known)})


def judge(answer: Answer, known: Known) -> Answer:
    """The accepted items; the rest is in `refused`. No accepted item contradicts another."""
    judging = _Judging(known, list(answer.refused))
    # Merges come first: an absorbed arc must not be split, connected, summarised or synthesised.
    return Answer(
        merges=judging.each(answer.merges, judging.merge),
        splits=judging.each(answer.splits, judging.split),
        edges=judging.each(_by_priority(answer.edges), judging.edge),
        signals=judging.each(answer.signals, judging.signal),
        summaries=judging.each(answer.summaries, judging.summary),
        syntheses=judging.each(answer.syntheses, judging.synthesis),
        intent=judging.intent(answer.intent),
        health=answer.health,
        refused=tuple(judging.refused),
    )


def _by_priority(edges: Mapping[str, Edge]) -> dict[str, Edge]:
    """Edges by priority of their type, then in the order of the answer: the first edge of a pair is accepted."""
    rank = {kind: number for number, kind in enumerate(EDGE_TYPES)}
    first = {place: number for number, place in enumerate(edges)}
    order = sorted(edges, key=lambda place: (rank.get(edges[place].type, len(rank)), first[place]))
    return {place: edges[place] for place in order}


def _identity(item: SignalChange, known: Known) -> str:
    """The identity of the one signal that the item names, or why there is none."""
    if item.signal is not None:
        known_signal = known.signals.get(item.signal)
        if known_signal is None:
            return f"no active signal has the identity {_shown(item.signal)}"
        return item.signal if known_signal.source == item.source else "the signal of this identity has another source"
    ours = [identity for identity, signal in known.signals.items() if signal.source == item.source]
    if len(ours) > 1:
        return f"{len(ours)} signals have this source: name one by its identity"
    return ours[0] if ours else f"no active signal has the source {_shown(item.source)}"


def _unfit(item: SignalChange, signal: KnownSignal) -> str:
    if signal.severity == "nuclear":
        return "a nuclear signal is changed by people only"
    if item.op == "clear":
        return ""
    if item.severity not in _SEVERITIES:
        return f"a model may raise to {', '.join(_SEVERITIES[1:])} only"
    if signal.severity in _SEVERITIES and _SEVERITIES.index(item.severity) <= _SEVERITIES.index(signal.severity):
        return f"the signal is {signal.severity} already"
    return ""


def _shown(text: str) -> str:
    return repr(clipped(text, 60))
