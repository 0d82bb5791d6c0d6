"""How the brain is, for monitoring."""

import asyncio

from openbrain.contract.vault.pages import DeepHealth, PipelineHealth
from openbrain.domain.errors import OpenBrainError
from openbrain.domain.permissions import Permission
from openbrain.domain.signals.values import OPEN_STATES
from openbrain.domain.times import to_iso
from openbrain.domain.visibility import Viewer
from openbrain.ports.signals import SignalFilter
from openbrain.ports.vault import Tick
from openbrain.settings.reasoner import NONE
from openbrain.vault.pipeline import SOURCE
from openbrain_api.checks import OWN, Checks
from openbrain_api.http.response import Response, plain
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.vaults.writes import vault_of

FINDINGS = 100


@Route("GET", "/health/deep", permission=Permission.VAULT_READ, response=DeepHealth, problems=(404,))
async def deep(call: Call[Nothing, Nothing]) -> Response:
    """How the brain's parts are.

    The vault's disk, the embedder, and the reasoner where there is one.
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
    if call.api.settings.reasoner.url != NONE:
        checks["reasoner"] = await _mind(call.api.reasoner_checks)
    status = "ok" if all(found == "ok" for found in checks.values()) else "degraded"
    return plain({"status": status, "service": "openbrain", "checks": checks})


async def _mind(mind: Checks) -> str:
    """Whether the reasoner answers and has its model; it is not made to think."""
    known = (await mind.dependencies()).get("reasoner")
    if known is None:
        return "down"
    return "its server does not have the model" if known["problems"] else "ok"


@Route("GET", "/health/pipeline", permission=Permission.VAULT_READ, response=PipelineHealth, problems=(404,))
async def pipeline(call: Call[Nothing, Nothing]) -> Response:
    """Whether the vault is kept.

    What the housekeeper found that does not run, and the last tick.
    """
    vault_of(call)
    workspace, store = call.actor.workspace_id, call.api.store
    asked = SignalFilter(states=OPEN_STATES, source=SOURCE)
    found = await store.signals.signals(Viewer(workspace_id=workspace, agent_id=""), asked, FINDINGS)
    last = await store.ticks.ticks(workspace, 1)
    checks = {
        "truth": "down" if "truth" in (await call.api.checks.failing()).get(OWN, {}) else "ok",
        "writes": await call.api.pressure.refusal() or "ok",
        "streams": "down" if call.api.pressure.streams_answer() is False else "ok",
    }
    fields = {
        "status": "degraded" if found or any(each != "ok" for each in checks.values()) else "ok",
        "service": "openbrain",
        "checks": checks,
        "findings": [{"title": each.title, "since": to_iso(each.first_raised_at)} for each in found],
        "last_tick": _tick_json(last[0]) if last else None,
    }
    return plain(fields)


def _tick_json(tick: Tick) -> dict[str, str | None]:
    ended = tick.finished_at
    return {
        "id": tick.job.id,
        "state": tick.state,
        "requested_at": to_iso(tick.requested_at),
        "finished_at": None if ended is None else to_iso(ended),
    }
