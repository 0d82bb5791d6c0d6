"""Creates a vault's folders, and configures the default vault of a brain on this machine."""

from pathlib import Path
from stat import S_IMODE

from openbrain.settings import Settings
from openbrain.vault.layout import FOLDERS, README, README_TEXT
from openbrain_cli.operators.bootstrap_keys import WORKSPACE


def make_vault(root: Path) -> list[str]:
    """Create a vault's missing folders and its README. Return the folders created."""
    missing = [name for name in FOLDERS if not (root / name).is_dir()]
    root.mkdir(parents=True, exist_ok=True)
    rights = S_IMODE(root.stat().st_mode)
    for name in missing:
        _make(root, Path(name), rights)
    if not (root / README).exists():
        (root / README).write_text(README_TEXT, encoding="utf-8")
        (root / README).chmod(rights & 0o666)
    return missing


def with_vault(settings: Settings) -> Settings:
    """Give the first workspace the vault `vault` in the data folder, unless the settings configure vaults."""
    if "folders" in settings.vaults.model_fields_set:
        return settings
    vaults = settings.vaults.model_copy(update={"folders": {WORKSPACE: settings.data_dir / "vault"}})
    return settings.model_copy(update={"vaults": vaults})


def _make(root: Path, name: Path, rights: int) -> None:
    """Create a folder below the root, with its parents, with the root's mode."""
    for path in (*reversed([root / parent for parent in name.parents if parent.name]), root / name):
        if not path.is_dir():
            path.mkdir()
            path.chmod(rights)
