"""A workspace in which every lifecycle job has work."""

from typing import Any

from openbrain.domain.access.permissions import Permission
from openbrain.ports.lifecycle import CLEAN
from tests.api.memories.test_cleaning import worker as cleaning_worker
from tests.support.api.brain import http, remembered
from tests.support.api.lifecycle.families import Family
from tests.support.api.lifecycle.tenant import RISING, LifecycleTenant

ANSWERED = ("id", "content", "project", "org", "tags", "type", "agent_id", "confidence", "recall_count")
GATE = "when does the gate open?"
BODIES: dict[str, dict[str, Any]] = {
    "prune": {"max_confidence": 0.2, "project": "seen"},
    "dedupe": {"project": "doubles"},
    "consolidate": {"project": "doubles", "threshold": 0.9},
    "refile": {"tags": ["moves"], "to_project": "there", "to_org": "core"},
    "backfill-org": {"project": "before"},
    "clean": {"strip_pii": True, "project": "people"},
}


class Tenant(LifecycleTenant):
    async def ran(self, job: str, **more: Any) -> dict[str, Any]:
        begun = await self.admin.post(f"/v1/admin/lifecycle:{job}", json=BODIES[job] | more)
        if job != CLEAN:
            return await self.ended(begun)
        one = cleaning_worker(self.brain)
        while await one.round():
            pass
        return await self.operation(begun.json()["operation"]["id"])

    async def unversioned(self) -> list[dict[str, Any]]:
        return await self.truth(RISING | {"version"})

    async def answers(self) -> list[Any]:
        """Return the answers of both indexes."""
        body = {"query": GATE, "precision": "recall", "fold": False, "top_k": 50}
        recalled = (await self.admin.post("/v1/brain/recall", json=body)).json()["memories"]
        searched = (await self.admin.get("/v1/brain/search", params={"q": "gate", "limit": 50})).json()["hits"]
        return [
            sorted(([each.get(name) for name in ANSWERED] for each in found), key=lambda each: str(each[0]))
            for found in (recalled, searched)
        ]


async def filled(tenant: Tenant) -> None:
    """Store data that gives every job work."""
    admin = tenant.admin
    seen = [f"the gate was seen open {number} times" for number in range(4)]
    await remembered(admin, *seen, project="seen", confidence=0.1)
    for place in ("north", "south"):
        await remembered(
            admin,
            f"The {place} gate opens at six every morning",
            f"Note: the {place} gate opens at six every morning.",
            project="doubles",
        )
    await remembered(admin, *[f"the gate number {number} moves" for number in range(4)], project="here", tags=["moves"])
    await remembered(admin, *[f"the gate of old, number {number}" for number in range(4)], project="before")
    await remembered(admin, "the gate of core", project="before", org="core")
    people = [f"ask anna{number}@example.com about the gate" for number in range(4)]
    await remembered(admin, *people, project="people")
    await tenant.brain.settle()


async def tenant_of(family: Family) -> Tenant:
    workspace = await family.brain.new_workspace()
    key = await family.brain.key(workspace, permissions=frozenset(Permission))
    return Tenant(family.brain, workspace, http(family.brain.app(), key))
