"""One tick of one vault: observe, plan, apply and verify; a model is asked once."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from openbrain.domain.errors import NotFound
from openbrain.domain.tasks import in_thread
from openbrain.ports.store.vault import TickJob
from openbrain.vault.pages.index import Scan
from openbrain.vault.values import Problem
from openbrain_tick.apply.clear_signals import clear_signals
from openbrain_tick.apply.plan_and_write import plan_and_write
from openbrain_tick.apply.sync_memories import sync_memories
from openbrain_tick.observe.observe import observe, recent_sessions
from openbrain_tick.observe.transcripts import sessions_by_id, transcripts_by_session
from openbrain_tick.plan.arcs.cluster import cluster, note_activity
from openbrain_tick.plan.arcs.incidents import incidents
from openbrain_tick.plan.arcs.workflow import templates
from openbrain_tick.plan.deterministic import Published, World, publish, tidy
from openbrain_tick.plan.extract import Session
from openbrain_tick.plan.feed.health import record
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.plan_only import Planned, plan_only
from openbrain_tick.plan.reasoning.answer.items import Answer
from openbrain_tick.plan.reasoning.apply_answer import AppliedAnswer, apply_answer
from openbrain_tick.plan.reasoning.ask import ask
from openbrain_tick.ports import Ports
from openbrain_tick.report import Report, diff, stats
from openbrain_tick.vaults import Vault
from openbrain_tick.verify.missing_items import verify


async def tick(job: TickJob, vault: Vault, ports: Ports) -> dict[str, Any]:
    """Run a tick; its report. If the model fails, the rest of the tick continues; any other error ends the tick."""
    report = Report(job, ports.clock.now())
    sessions = await recent_sessions(job, ports, report)
    world, scan = await observe(job, vault, ports, report.now_us)
    with report.phase("deterministic") as phase:
        first = await _deterministic(job, vault, ports, report.now_us, world, sessions, scan)
        phase["stats"] = stats(first.plan.counts)
    last: Planned[Any] = first
    if not job.ai:
        report.phases["ai"] = {"skipped": "not asked for"}
    elif ports.reasoner is None:
        report.phases["ai"] = {"skipped": "no reasoner is set"}
    else:
        answer = await ask(first.plan, first.made, ports.reasoner, ports.prompt_chars, report)
        if answer is not None:
            last = applied = await _answered(job, vault, ports, report, world, answer, first)
            if not job.dry_run:
                report.changed(first.changes)
                await clear_signals(applied.made, vault, ports.store, report.now_us, world)
                await verify(vault, report.now_us, applied.made, report)
    report.changed(last.changes)
    problems = [*last.plan.problems]
    if not job.dry_run:
        problems += await _synced(last.plan, vault, ports, report)
    report.problems(problems)
    if job.dry_run:
        report.more["diff"] = await in_thread(lambda: diff(last.changes, vault.folder.read))
    return report.document()


async def _deterministic(
    job: TickJob, vault: Vault, ports: Ports, now_us: int, world: World, sessions: tuple[Session, ...], scan: Scan
) -> Planned[Published]:
    def make(plan: Plan) -> Published:
        if sessions and ports.transcripts is not None:
            cluster(plan, sessions, sessions_by_id(ports.transcripts))
            note_activity(plan, sessions)
        # Before `tidy` computes their heat, so that one pass is enough.
        incidents(plan, world.open_signals, world.ended_incidents, set(world.rows.values()))
        tidy(plan, world.ended)
        if ports.transcripts is not None:
            with suppress(NotFound):  # no folder that can be read
                templates(plan, transcripts_by_session(ports.transcripts))
        published = publish(plan, world.probes, world.alarm)
        record(plan, published.health)
        return published

    if job.dry_run:
        return await plan_only(vault, now_us, make, scan)
    return await plan_and_write(vault, ports.store.leases, now_us, make, scan)


async def _answered(
    job: TickJob, vault: Vault, ports: Ports, report: Report, world: World, answer: Answer, first: Planned[Published]
) -> Planned[AppliedAnswer]:
    def make(plan: Plan) -> AppliedAnswer:
        return apply_answer(plan, answer, world)

    with report.phase("apply") as phase:
        if job.dry_run:
            made = await in_thread(lambda: make(first.plan))
            planned = Planned(first.plan, made, first.plan.changes())
        else:
            planned = await plan_and_write(vault, ports.store.leases, report.now_us, make)
        phase["result"] = planned.made.result()
    return planned


async def _synced(plan: Plan, vault: Vault, ports: Ports, report: Report) -> Sequence[Problem]:
    """Sync lessons, decisions and milestones of the pages to memories."""
    with report.phase("memories") as phase:
        synced = await sync_memories(
            vault.workspace_id,
            list(plan.pages.values()),
            plan.scan.problems,
            store=ports.store,
            clock=ports.clock,
            content_policy=ports.content_policy,
            forget_share=ports.forget_share,
        )
        counts = {"submitted": synced.submitted, "superseded": synced.superseded, "forgotten": synced.forgotten}
        phase["stats"] = stats(counts)
    return synced.problems
