"""The vaults of the settings, and what a tick knows of each."""

from dataclasses import dataclass

from openbrain.domain.errors import NotFound
from openbrain.settings import Settings
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages.index import Index, state_file
from openbrain.vault.thresholds import Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """A workspace's folder, and what is known of its pages."""

    workspace_id: str
    folder: Folder
    index: Index
    thresholds: Thresholds
    wait_s: float
    """Seconds that a tick waits to be the one writer."""


class Vaults:
    """The vaults of the settings, opened when first asked for and known from then on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: dict[str, Vault] = {}

    def of(self, workspace_id: str) -> Vault:
        """`NotFound` where the workspace has none."""
        if workspace_id in self._open:
            return self._open[workspace_id]
        settings = self._settings.vaults
        root = settings.folders.get(workspace_id)
        if root is None:
            raise NotFound("this workspace has no vault: OPENBRAIN_VAULTS__FOLDERS gives it one")
        vault = self._open[workspace_id] = Vault(
            workspace_id=workspace_id,
            folder=Folder(root, max_bytes=settings.tuning.file_kb * 1024),
            index=Index(state_file(self._settings.data_dir, workspace_id, root)),
            thresholds=self._settings.tick.vault_thresholds(),
            wait_s=30,
        )
        return vault
