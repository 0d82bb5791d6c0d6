"""The vaults named in the settings."""

from dataclasses import dataclass

from openbrain.domain.errors import NotFound
from openbrain.settings import Settings
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages.index import Index, state_file
from openbrain.vault.thresholds import Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """A workspace's folder, and the index of its pages."""

    workspace_id: str
    folder: Folder
    index: Index
    thresholds: Thresholds
    wait_s: float
    """Maximum time that a tick waits for the writer's lease, in seconds."""


class Vaults:
    """The vaults named in the settings, opened on demand and kept."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: dict[str, Vault] = {}

    def of(self, workspace_id: str) -> Vault:
        """The workspace's vault. `NotFound` if it has none."""
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
