"""Reads everything that a tick needs before it plans."""

from collections.abc import Mapping
from pathlib import Path

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import NotFound
from openbrain.domain.memory import DAY, HOUR, MICROSECONDS
from openbrain.domain.tasks import in_thread
from openbrain.domain.times import to_datetime, to_iso
from openbrain.ports.store.vault import Tick, TickJob, Ticks, TickState
from openbrain.vault.pages.index import Scan
from openbrain_tick.observe.signals import alarm_of, probed, raise_signals
from openbrain_tick.observe.transcripts import extracted
from openbrain_tick.plan.arcs.incidents import unclosed
from openbrain_tick.plan.arcs.signals import page_signals
from openbrain_tick.plan.deterministic import World
from openbrain_tick.plan.extract import Bundle, Filter, Session, window
from openbrain_tick.plan.plan_only import plan_only
from openbrain_tick.ports import Ports
from openbrain_tick.report import Report
from openbrain_tick.vaults import Vault

LOOK_BACK_TICKS = 200
MARGIN_S = 7200
MOST_DAYS = 30
MOST_SIGNALS = 1000
"""Maximum number of open signals read, most severe first."""


async def observe(job: TickJob, vault: Vault, ports: Ports, now_us: int) -> tuple[World, Scan]:
    """The state outside the vault, and a scan of its pages. Also raises the signals of pages, except in a dry run."""
    seen = await plan_only(vault, now_us, lambda plan: page_signals(plan, {}))
    probes = await probed(ports.prober, ports.probes, seen.made)
    shown = page_signals(seen.plan, probes) if probes else seen.made
    ended: Mapping[str, str] = {}
    rows: Mapping[str, str] = {}
    if not job.dry_run:
        ended, rows = await raise_signals(
            shown, vault.workspace_id, ports.store.signals, now_us, ports.held_us, ports.content_policy
        )
    viewer, signals = Viewer(workspace_id=vault.workspace_id, agent_id=""), ports.store.signals
    present = await signals.present(viewer, MOST_SIGNALS)
    unclosed_ended = unclosed(seen.plan.pages.values()) - {signal.id for signal in present.signals}
    incidents = {item: await signals.signal(viewer, item) for item in sorted(unclosed_ended)}
    world = World(
        ended=ended,
        rows=rows,
        alarm=alarm_of(present),
        open_signals=present.signals,
        ended_incidents={item: row for item, row in incidents.items() if row is None or not row.state.open},
        probes=probes,
    )
    return world, seen.plan.scan


async def recent_sessions(job: TickJob, ports: Ports, report: Report) -> tuple[Session, ...]:
    """Sessions since the last extraction, if the job extracts. If their folder is gone, the report says so, and a later
    extraction reads them."""
    folder = ports.transcripts
    if not job.extract or folder is None:
        return ()
    since_us = report.now_us - round(ports.since_h * HOUR)
    for done in await ports.store.ticks.ticks(job.workspace_id, LOOK_BACK_TICKS):
        if done.state is TickState.COMPLETED and await _extracted(done, ports.store.ticks):
            since_us = min(since_us, (done.started_at or done.requested_at) - MARGIN_S * MICROSECONDS)
            break
    since_us = max(since_us, report.now_us - MOST_DAYS * DAY)
    within = window(to_iso(since_us), "", to_datetime(report.now_us))
    wanted = Filter(project=None, min_turns=ports.min_turns)
    unread: list[Path] = []
    with report.phase("extract") as phase:
        try:
            bundle: Bundle = await in_thread(lambda: extracted(folder, within, wanted, unread.append))
        except NotFound as error:
            phase["error"] = str(error)
            return ()
        phase |= {"sessions": len(bundle.sessions), "scanned": bundle.sessions_scanned, "unreadable": len(unread)}
    return tuple(bundle.sessions)


async def _extracted(done: Tick, ticks: Ticks) -> bool:
    """True if the completed tick has read the transcripts."""
    if not done.job.extract or done.job.dry_run:
        return False
    whole = await ticks.tick(done.job.workspace_id, done.job.id)  # lists are without reports
    return whole is not None and "error" not in whole.report.get("phases", {}).get("extract", {})
