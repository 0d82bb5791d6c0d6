"""One tick of one vault: keep it, ask the model once, write what is accepted, look for it on the disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.times import to_datetime, to_iso
from openbrain.ports.clock import Clock
from openbrain.ports.models import Reasoner
from openbrain.ports.store import Store
from openbrain.ports.vault import Prober, TickJob, TickState
from openbrain.ports.writes import WriteGate
from openbrain.vault.pages.index import Scan
from openbrain.vault.values import Problem
from openbrain_tick.burning import burning
from openbrain_tick.memories import bring
from openbrain_tick.outside import Around, probed, resolved, standing_alarm, told
from openbrain_tick.phases.cluster import cluster, note_activity
from openbrain_tick.phases.extract import Bundle, Filter, Session, window
from openbrain_tick.phases.feed import alarmed
from openbrain_tick.phases.health import record
from openbrain_tick.phases.incidents import incidents
from openbrain_tick.phases.keep import Kept, publish, tidy
from openbrain_tick.phases.plan import Plan
from openbrain_tick.phases.reasoning.answer import Answer, Refused, from_items, from_json
from openbrain_tick.phases.reasoning.applying import Outcome, apply
from openbrain_tick.phases.reasoning.judging import judge
from openbrain_tick.phases.reasoning.known import known_of
from openbrain_tick.phases.reasoning.markdown import from_markdown
from openbrain_tick.phases.reasoning.prompt import prompt
from openbrain_tick.phases.reasoning.telling import previous_intent, tell
from openbrain_tick.phases.reasoning.verifying import missing
from openbrain_tick.phases.signals import standing
from openbrain_tick.phases.workflow import templates
from openbrain_tick.report import Report, diff, refusals, stats
from openbrain_tick.sessions import extracted, sessions_by_id, transcripts_by_session
from openbrain_tick.writing import Settled, Vault, settle, thought_out, whole

LOOK_BACK_TICKS = 200
MARGIN_S = 7200
MOST_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a tick works with, and how: `transcripts` None extracts nothing."""

    store: Store
    clock: Clock
    gate: WriteGate
    reasoner: Reasoner
    prober: Prober
    probes: Mapping[str, str]
    prompt_chars: int
    transcripts: Path | None
    since_h: float
    min_turns: int
    forget_share: float
    held_us: int
    """How long a mark keeps its signal alive after a tick has seen it; longer than from one tick to the next."""


async def tick(job: TickJob, vault: Vault, ports: Ports) -> dict[str, Any]:
    """The report. A model that fails costs the tick nothing else; whatever else fails ends it."""
    report = Report(job, ports.clock.now())
    sessions = await _sessions(job, ports, report)
    around, scan = await _around(job, vault, ports, report.now_us)
    with report.phase("deterministic") as phase:
        first = await _first(job, vault, ports, report.now_us, around, sessions, scan)
        phase["stats"] = stats(first.plan)
    last: Settled[Any] = first
    if job.ai:
        answer = await _answer(first.plan, first.made, ports, report)
        if answer is not None:
            last = await _second(job, vault, ports, report, around, answer, first)
    else:
        report.phases["ai"] = {"skipped": "not asked for"}
    if last is not first and not job.dry_run:
        report.changed(first.changes)
    report.changed(last.changes)
    problems = [*last.plan.problems]
    if not job.dry_run:
        problems += await _remembered(last.plan, vault, ports, report)
    report.problems(problems)
    if job.dry_run:
        report.more["diff"] = await whole(lambda: diff(last.changes, vault.folder.read))
    return report.whole()


async def _around(job: TickJob, vault: Vault, ports: Ports, now_us: int) -> tuple[Around, Scan]:
    seen = await thought_out(vault, now_us, lambda plan: standing(plan, {}))
    probes = await probed(ports.prober, ports.probes, seen.made)
    shown = standing(seen.plan, probes) if probes else seen.made
    ended: Mapping[str, str] = {}
    rows: Mapping[str, str] = {}
    if not job.dry_run:
        ended, rows = await told(shown, vault.workspace_id, ports.store.signals, now_us, ports.held_us)
    around = Around(
        ended=ended,
        rows=rows,
        alarm=await standing_alarm(vault.workspace_id, ports.store.signals),
        burns=await burning(vault.workspace_id, seen.plan.pages.values(), ports.store.signals),
        probes=probes,
    )
    return around, seen.plan.scan


async def _sessions(job: TickJob, ports: Ports, report: Report) -> tuple[Session, ...]:
    """Of the time since the last extraction, where one is due."""
    folder = ports.transcripts
    if not job.extract or folder is None:
        return ()
    since_us = report.now_us - round(ports.since_h * 3600 * MICROSECONDS)
    for done in await ports.store.ticks.ticks(job.workspace_id, LOOK_BACK_TICKS):
        if done.state is TickState.COMPLETED and done.job.extract and not done.job.dry_run:
            since_us = min(since_us, (done.started_at or done.requested_at) - MARGIN_S * MICROSECONDS)
            break
    since_us = max(since_us, report.now_us - MOST_DAYS * 86_400 * MICROSECONDS)
    within = window(to_iso(since_us), "", to_datetime(report.now_us))
    wanted = Filter(project=None, min_turns=ports.min_turns)
    unread: list[Path] = []
    with report.phase("extract") as phase:
        found: Bundle = await whole(lambda: extracted(folder, within, wanted, unread.append))
        phase |= {"sessions": len(found.sessions), "scanned": found.sessions_scanned, "unreadable": len(unread)}
    return tuple(found.sessions)


async def _first(
    job: TickJob, vault: Vault, ports: Ports, now_us: int, around: Around, sessions: tuple[Session, ...], scan: Scan
) -> Settled[Kept]:
    def make(plan: Plan) -> Kept:
        if sessions and ports.transcripts is not None:
            cluster(plan, sessions, sessions_by_id(ports.transcripts))
            note_activity(plan, sessions)
        # Before their heat is counted, so that one pass is enough.
        incidents(plan, around.burns.open_signals, around.burns.ended)
        tidy(plan, around.ended)
        if ports.transcripts is not None and ports.transcripts.is_dir():
            templates(plan, transcripts_by_session(ports.transcripts))
        kept = publish(plan, around.probes, around.alarm)
        record(plan, kept.health)
        return kept

    if job.dry_run:
        return await thought_out(vault, now_us, make, scan)
    return await settle(vault, ports.store.leases, now_us, make, scan)


async def _answer(plan: Plan, kept: Kept, ports: Ports, report: Report) -> Answer | None:
    """None where there is no model, or it did not answer; the report says which."""
    with report.phase("prompt_gen") as phase:
        asked = await whole(lambda: prompt(plan, kept.signals, previous_intent(plan), ports.prompt_chars))
        phase |= {"prompt_length": len(asked.question.prompt), "left_out": dict(asked.left_out)}
    with report.phase("ai") as phase:
        try:
            thought = await ports.reasoner.reason(asked.question)
        except OpenBrainError as error:
            phase["error"] = str(error)
            return None
        if thought is None:
            phase["skipped"] = "no reasoner is set"
            return None
        phase |= {"model": thought.model, "output_length": len(thought.text), "cut": thought.cut}
        phase |= {"tokens_in": thought.tokens_in, "tokens_out": thought.tokens_out}
        answer = from_json(thought.text) or from_markdown(thought.text)
        if answer is None:
            phase["error"] = "the answer is neither JSON by the schema nor the six sections" + (
                ": it was cut, raise OPENBRAIN_REASONER__ANSWER_TOKENS" if thought.cut else ""
            )
            return from_items({}, (Refused("answer", phase["error"]),))
        return answer


@dataclass(frozen=True, slots=True)
class _Applied:
    accepted: Answer
    outcome: Outcome


async def _second(
    job: TickJob,
    vault: Vault,
    ports: Ports,
    report: Report,
    around: Around,
    answer: Answer,
    first: Settled[Kept],
) -> Settled[_Applied]:
    def make(plan: Plan) -> _Applied:
        accepted = judge(answer, known_of(plan.pages.values()))
        outcome = apply(accepted, plan)
        tidy(plan, around.ended)
        kept = publish(plan, around.probes, around.alarm)
        said = accepted.health
        tell(plan, accepted, outcome, kept.health.score if said is None else said.score)
        record(plan, kept.health, score=said.score if said else None, reason=said.reason if said else "")
        return _Applied(accepted, outcome)

    with report.phase("apply") as phase:
        if job.dry_run:
            made = await whole(lambda: make(first.plan))
            settled = Settled(first.plan, made, first.plan.changes())
        else:
            settled = await settle(vault, ports.store.leases, report.now_us, make)
        done = settled.made.outcome.done
        refused = [*settled.made.accepted.refused, *settled.made.outcome.refused]
        phase["result"] = {"done": list(done), "refused": refusals(refused), "refused_count": len(refused)}
    if not job.dry_run:
        await _cleared(settled.made, vault, ports, report.now_us, around)
        with report.phase("verify") as phase:
            seen = await thought_out(vault, report.now_us, lambda plan: list(plan.pages.values()))
            lacking = missing(settled.made.accepted, done, seen.made)
            phase["stats"] = {"looked_for": len(done), "missing": list(lacking)}
    return settled


async def _cleared(made: _Applied, vault: Vault, ports: Ports, now_us: int, around: Around) -> None:
    """What the model cleared in pages ends in the truth too, and leaves the feed."""
    notes = {
        around.rows[name]: change.reason or "cleared by the tick"
        for place, change in made.accepted.signals.items()
        if place in made.outcome.done and change.op == "clear" and (name := change.signal or "") in around.rows
    }
    if await resolved(notes, vault.workspace_id, ports.store.signals):
        alarm = await standing_alarm(vault.workspace_id, ports.store.signals)
        await settle(vault, ports.store.leases, now_us, lambda plan: alarmed(plan, alarm))


async def _remembered(plan: Plan, vault: Vault, ports: Ports, report: Report) -> Sequence[Problem]:
    """Lessons, decisions and milestones of the pages as memories."""
    with report.phase("memories") as phase:
        brought = await bring(
            vault.workspace_id,
            list(plan.pages.values()),
            plan.scan.problems,
            store=ports.store,
            clock=ports.clock,
            gate=ports.gate,
            forget_share=ports.forget_share,
        )
        counts = {"submitted": brought.submitted, "superseded": brought.superseded, "forgotten": brought.forgotten}
        phase["stats"] = {name: count for name, count in counts.items() if count}
    return brought.problems
