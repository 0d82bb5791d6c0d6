"""The embedding model: which one serves, and changing it."""

from typing import Unpack

from openbrain.client.arguments import NewModel
from openbrain.client.wire import Wire
from openbrain.contract.admin.models import ModelChange, ModelInUse

MODELS = "/v1/admin/models"


class Models:
    """Methods of the client for the embedding model. They need an admin key of the workspace `system`."""

    _wire: Wire

    async def model_in_use(self) -> ModelInUse:
        """Name the model that serves, and the one of the settings."""
        return await self._wire.ask(ModelInUse, "GET", MODELS)

    async def change_model(self, model: str, *, dry_run: bool = False, **how: Unpack[NewModel]) -> ModelChange:
        """Embed all memories by this model while the old one answers, then let it serve; one whose index was kept does
        so at once. Gives the operation that does it: `watch` it. Asked for again it is the same."""
        body: dict[str, object] = {"model": model, "dry_run": dry_run, **how}
        path = f"{MODELS}:change"
        return await self._wire.ask(ModelChange, "POST", path, body=body, repeat=True, well=(200, 202))
