"""Results of the tools of a vault."""

from typing import TYPE_CHECKING

from mcp_types import CallToolResult

from openbrain_mcp.tools import fence
from openbrain_mcp.tools.answers import RECALLED_CHARS, Done, both, text
from openbrain_mcp.tools.fence import Block

if TYPE_CHECKING:
    from openbrain.contract.vault import arcs as vault_arcs
    from openbrain.contract.vault import pages
    from openbrain.contract.vault.ticks import TickAccepted

_LABELS = {"arc_id", "title", "path", "region", "status", "project", "heat", "created_at", "score"}


class Page(Done):
    """Of brain_ingest."""

    written_bytes: int | None = None
    duplicate: bool | None = None


class Tick(Done):
    """Of brain_tick."""

    job_id: str | None = None
    status: str | None = None


def arcs(answer: "vault_arcs.ArcsFound") -> CallToolResult:
    """Each with what it is about."""
    blocks = [Block(item.model_dump(mode="json", include=_LABELS), item.summary, "arc") for item in answer.arcs]
    return text("" if answer.complete else "Not every arc was looked at.", fence.fenced(blocks, each=RECALLED_CHARS))


def arc(detail: "vault_arcs.ArcDetail") -> CallToolResult:
    """Show the page of an arc."""
    return text(fence.fenced([Block(detail.model_dump(mode="json", include=_LABELS), detail.content, "arc")]))


def feed(read: "pages.Feed") -> CallToolResult:
    """Show the pages of the feed, the highest priority first."""
    entries = sorted((*read.hot_arcs, *read.inject_blocks, *read.entries), key=lambda item: -item.priority)
    blocks = [
        Block({"id": entry.id, "title": entry.title, "severity": entry.severity}, entry.content, "feed")
        for entry in entries
    ]
    return text(fence.fenced(blocks))


def status(health: "pages.PipelineHealth") -> CallToolResult:
    """Show the parts that run, and those that do not."""
    checks = "\n".join(f"{name}: {state}" for name, state in health.checks.items())
    findings = "\n".join(f"since {finding.since:%Y-%m-%dT%H:%MZ}: {finding.title}" for finding in health.findings)
    last = health.last_tick
    summary = f"The vault is {health.status}. " + (
        f"Last tick: {last.state}, {last.id}." if last else "No tick so far."
    )
    return text(summary, fence.fenced([Block({}, f"{checks}\n{findings}".strip(), "status")]))


def page(written: "pages.PageWritten") -> CallToolResult:
    """Show the length of what was written."""
    again = written.idempotent_replay
    summary = "It was there already" if again else "Written; the next tick files it"
    return both(f"{summary}.", Page(written_bytes=written.written_bytes, duplicate=again))


def tick(accepted: "TickAccepted") -> CallToolResult:
    """The job."""
    return both(
        f"Asked for: {accepted.job_id}, {accepted.status}.", Tick(job_id=accepted.job_id, status=str(accepted.status))
    )
