"""A workspace whose lifecycle operations are run as soon as they are requested."""

from dataclasses import dataclass
from typing import Any

import httpx

from openbrain_housekeeper.jobs.operations import Worker
from tests.support.api.brain import Brain
from tests.support.store.fixtures import rows
from tests.support.store.lifecycle_worker import wired_worker

RISING = frozenset({"revision", "updated_at", "indexed_at", "text_revision", "vector_revision", "passages_high"})


@dataclass
class LifecycleTenant:
    """`admin` has every permission in the workspace."""

    brain: Brain
    workspace: str
    admin: httpx.AsyncClient

    def worker(self, holder: str = "test", reasoner: object = None) -> Worker:
        return wired_worker(self.brain, holder, reasoner)

    async def ended(self, response: httpx.Response, reasoner: object = None) -> dict[str, Any]:
        """Run the operation of an answer to its end; return it."""
        assert response.status_code == 202, response.text
        worker = self.worker(reasoner=reasoner)
        while await worker.round():
            pass
        return await self.operation(response.json()["operation"]["id"])

    async def operation(self, operation_id: str) -> dict[str, Any]:
        operation: dict[str, Any] = (await self.admin.get(f"/v1/admin/operations/{operation_id}")).json()
        assert operation["status"] == "done", operation
        await self.brain.settle()
        return operation

    async def undone(self, operation: dict[str, Any]) -> dict[str, Any]:
        return await self.ended(await self.admin.post(f"/v1/admin/operations/{operation['id']}:undo"))

    async def truth(self, rising: frozenset[str] = RISING) -> list[dict[str, Any]]:
        """Return all rows, byte for byte, without the columns that change with every write."""
        found = await rows(
            self.brain.store._database,
            "SELECT * FROM memories WHERE workspace_id = :workspace ORDER BY id",
            workspace=self.workspace,
        )
        return [{name: value for name, value in row.items() if name not in rising} for row in found]
