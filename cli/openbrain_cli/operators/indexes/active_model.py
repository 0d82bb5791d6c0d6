"""The embedding model that the settings name, and the models of the stored vectors."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openbrain_cli.profile import profile

if TYPE_CHECKING:
    from openbrain.adapters.embedding.embedded_models import EmbeddedModel
    from openbrain.settings import Settings


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """Full names of models; '' if there is none, or none that is known here."""

    setting: str
    serving: str
    written: tuple[str, ...]

    def needs(self, model: "EmbeddedModel") -> bool:
        """True if the model's files are needed. The setting counts only while no index is written."""
        return model.full_name in (self.written or (self.setting,))


def model_in_use(data: Path | None) -> ModelInUse:
    """Look it up in the database, if there is one. Creates nothing."""
    from openbrain.domain.errors import OpenBrainError, SetupError
    from openbrain.runtime.adapters import model_name

    settings = profile(data=data).settings()
    try:
        setting = model_name(settings)
    except SetupError:
        setting = ""
    try:
        written = asyncio.run(_written(settings))
    except OpenBrainError:
        written = ()  # the database can't be reached, or is not upgraded yet
    return ModelInUse(setting, written[0] if written else "", written)


async def _written(settings: "Settings") -> tuple[str, ...]:
    from openbrain.adapters.sql.store import FILE
    from openbrain.ports.store.generations import IndexKind
    from openbrain.runtime import adapters

    if settings.truth.url == adapters.EMBEDDED and not (Path(settings.data_dir) / FILE).is_file():
        return ()
    store = adapters.store(settings, adapters.clock())
    try:
        return tuple(item.model_name for item in await store.generations.written(IndexKind.VECTOR))
    finally:
        await store.close()
