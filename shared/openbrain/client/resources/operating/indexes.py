"""Client methods for the indexes: generations, reindex, verification, embedding model."""

from typing import Unpack

from openbrain.client.arguments import Again, NewModel
from openbrain.client.wire import Wire, in_path
from openbrain.contract.admin.indexes import GenerationAnswer, GenerationDropped, GenerationList, Reindexed
from openbrain.contract.admin.models import ModelChange, ModelInUse
from openbrain.contract.admin.operations import OperationAnswer

GENERATIONS, MODELS = "/v1/admin/generations", "/v1/admin/models"


class Indexes:
    """Client methods for operators of the indexes and the embedding model. All but a reindex in place need an admin key
    of the workspace `system`."""

    _wire: Wire

    async def reindex(self, index: str, *, dry_run: bool = False, **how: Unpack[Again]) -> Reindexed:
        """Build the `text` or `vector` index anew while the current one serves; with a filter or `in_place`, rewrite
        memories in the existing index. Returns the operation: `watch` it."""
        body: dict[str, object] = {"index": index, "dry_run": dry_run, **how}
        path = "/v1/admin/reindex"
        return await self._wire.ask(Reindexed, "POST", path, body=body, repeat=dry_run, well=(200, 202))

    async def generations(self, index: str = "") -> GenerationList:
        """Return the generations of an index, or of both."""
        return await self._wire.ask(GenerationList, "GET", GENERATIONS, query={"index": index or None})

    async def switch_generation(self, index: str, name: str) -> GenerationAnswer:
        """Let a kept generation serve; the previous one is kept."""
        path = f"{GENERATIONS}/{in_path(index)}/{in_path(name)}:switch"
        return await self._wire.ask(GenerationAnswer, "POST", path)

    async def drop_generation(self, index: str, name: str, *, dry_run: bool = False) -> GenerationDropped:
        """Remove a generation that does not serve."""
        path = f"{GENERATIONS}/{in_path(index)}/{in_path(name)}"
        query = {"dry_run": "1" if dry_run else None}
        return await self._wire.ask(GenerationDropped, "DELETE", path, query=query, repeat=dry_run)

    async def verify(self, *, full: bool = False, repair: bool = False, restored: bool = False) -> OperationAnswer:
        """Start a verification of the indexes (needs an admin key of the workspace `system`). Watch the operation: its
        result has the differences.

        `full`: compare every entry, even where the checksums agree. `repair`: make the indexes equal to the database.
        `restored`: the database was restored to an earlier state; index everything again.
        """
        body = {"full": full, "repair": repair, "restored": restored}
        path = "/v1/admin/verify"
        return await self._wire.ask(OperationAnswer, "POST", path, body=body, repeat=False, well=(202,))

    async def model_in_use(self) -> ModelInUse:
        """Return the model that serves, and the one in the settings."""
        return await self._wire.ask(ModelInUse, "GET", MODELS)

    async def change_model(self, model: str, *, dry_run: bool = False, **how: Unpack[NewModel]) -> ModelChange:
        """Embed all memories by this model while the old one serves, then let it serve; if its index was kept, it
        serves at once. Returns the operation: `watch` it. Repeated calls return the same operation."""
        body: dict[str, object] = {"model": model, "dry_run": dry_run, **how}
        path = f"{MODELS}:change"
        return await self._wire.ask(ModelChange, "POST", path, body=body, repeat=True, well=(200, 202))
