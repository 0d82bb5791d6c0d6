"""Health of the brain, for monitoring."""

import asyncio
from typing import Literal

from openbrain.contract.vault.pages import DeepHealth, LastTick, PipelineFinding, PipelineHealth
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import OpenBrainError
from openbrain.domain.signals.values import OPEN_STATES
from openbrain.domain.times import to_datetime
from openbrain.ports.store.signals import SignalFilter
from openbrain.vault.pipeline import SOURCE
from openbrain_api.checks import OWN, Checks
from openbrain_api.http.response import Response, plain
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.vaults.writes import vault_of

FINDINGS = 100


@Route("GET", "/health/deep", permission=Permission.VAULT_READ, response=DeepHealth, problems=(404,))
async def deep(call: Call[Nothing, Nothing]) -> Response:
    """Health of the brain's parts.

    The vault's disk, the embedder, the database, and the reasoner if there is one.
    """
    folder = vault_of(call)
    try:
        await asyncio.to_thread(folder.digest, "README.md")
        vault = "ok"
    except OpenBrainError as error:
        vault = f"down: {error}"
    down = (await call.api.checks.failing()).get(OWN, {})
    checks = {
        "vault": vault,
        "embeddings": "down" if "embedder" in down else "ok",
        "truth": "down" if "truth" in down else "ok",
    }
    if call.api.reasoner_checks is not None:
        checks["reasoner"] = await _reasoner(call.api.reasoner_checks)
    status: Literal["ok", "degraded"] = "ok" if all(state == "ok" for state in checks.values()) else "degraded"
    return plain(DeepHealth(status=status, service="openbrain", checks=checks))


async def _reasoner(checks: Checks) -> str:
    """Check that the reasoner answers and has its model, without running the model."""
    known = (await checks.dependencies()).get("reasoner")
    if known is None:
        return "down"
    return "its server does not have the model" if known["problems"] else "ok"


@Route("GET", "/health/pipeline", permission=Permission.VAULT_READ, response=PipelineHealth, problems=(404,))
async def pipeline(call: Call[Nothing, Nothing]) -> Response:
    """Whether the vault is maintained.

    Reports what the housekeeper found not to be running, and the last tick.
    """
    vault_of(call)
    workspace, store = call.actor.workspace_id, call.api.store
    open_signals = SignalFilter(states=OPEN_STATES, source=SOURCE)
    findings = await store.signals.signals(Viewer(workspace_id=workspace, agent_id=""), open_signals, FINDINGS)
    last = await store.ticks.ticks(workspace, 1)
    checks = {
        "truth": "down" if "truth" in (await call.api.checks.failing()).get(OWN, {}) else "ok",
        "writes": await call.api.pressure.refusal() or "ok",
        "streams": "down" if call.api.pressure.streams_answer() is False else "ok",
    }
    shown = PipelineHealth(
        status="degraded" if findings or any(state != "ok" for state in checks.values()) else "ok",
        service="openbrain",
        checks=checks,
        findings=[PipelineFinding(title=row.title, since=to_datetime(row.first_raised_at)) for row in findings],
        last_tick=LastTick.of(last[0], id=last[0].job.id) if last else None,
    )
    return plain(shown)
