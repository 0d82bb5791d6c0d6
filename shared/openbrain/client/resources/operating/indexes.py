"""The indexes: their generations, a reindex, the embedding model, and whether they hold what the database does."""

from typing import Unpack

from openbrain.client.arguments import Again, NewModel
from openbrain.client.wire import Wire, in_path
from openbrain.contract.admin.indexes import GenerationAnswer, GenerationDropped, GenerationList, Reindexed
from openbrain.contract.admin.models import ModelChange, ModelInUse
from openbrain.contract.admin.operations import OperationAnswer

GENERATIONS, MODELS = "/v1/admin/generations", "/v1/admin/models"


class Indexes:
    """Methods of the client for operators of the indexes and the embedding model. All but a reindex in place need an
    admin key of the workspace `system`."""

    _wire: Wire

    async def reindex(self, index: str, *, dry_run: bool = False, **how: Unpack[Again]) -> Reindexed:
        """Make `text` or `vector` anew beside the one that serves; with anything that narrows it down, or `in_place`,
        write memories again where they are. Gives the operation that does it: `watch` it."""
        body: dict[str, object] = {"index": index, "dry_run": dry_run, **how}
        path = "/v1/admin/reindex"
        return await self._wire.ask(Reindexed, "POST", path, body=body, repeat=dry_run, well=(200, 202))

    async def generations(self, index: str = "") -> GenerationList:
        """The generations of an index, or of both."""
        return await self._wire.ask(GenerationList, "GET", GENERATIONS, query={"index": index or None})

    async def switch_generation(self, index: str, name: str) -> GenerationAnswer:
        """Let a kept one serve; the one before is kept."""
        path = f"{GENERATIONS}/{in_path(index)}/{in_path(name)}:switch"
        return await self._wire.ask(GenerationAnswer, "POST", path)

    async def drop_generation(self, index: str, name: str, *, dry_run: bool = False) -> GenerationDropped:
        """Remove one that does not serve."""
        path = f"{GENERATIONS}/{in_path(index)}/{in_path(name)}"
        query = {"dry_run": "1" if dry_run else None}
        return await self._wire.ask(GenerationDropped, "DELETE", path, query=query, repeat=dry_run)

    async def verify(self, *, full: bool = False, repair: bool = False, restored: bool = False) -> OperationAnswer:
        """Begin it (needs an admin key of the workspace `system`): watch the operation, its result tells what differs.

        `full`: every entry, also where the sums agree. `repair`: make the indexes equal. `restored`: the database was
        put back; everything is indexed again.
        """
        body = {"full": full, "repair": repair, "restored": restored}
        return await self._wire.ask(OperationAnswer, "POST", "/v1/admin/verify", body=body, well=(202,))

    async def model_in_use(self) -> ModelInUse:
        """Name the model that serves, and the one of the settings."""
        return await self._wire.ask(ModelInUse, "GET", MODELS)

    async def change_model(self, model: str, *, dry_run: bool = False, **how: Unpack[NewModel]) -> ModelChange:
        """Embed all memories by this model while the old one answers, then let it serve; one whose index was kept does
        so at once. Gives the operation that does it: `watch` it. Asked for again it is the same."""
        body: dict[str, object] = {"model": model, "dry_run": dry_run, **how}
        path = f"{MODELS}:change"
        return await self._wire.ask(ModelChange, "POST", path, body=body, repeat=True, well=(200, 202))
