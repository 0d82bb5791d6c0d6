"""A vault's folders, and the vault that a brain on this machine has where the settings name none."""

from pathlib import Path
from stat import S_IMODE

from openbrain.settings import Settings
from openbrain.vault.layout import FOLDERS, README, README_TEXT
from openbrain_cli.operators.bootstrap_keys import WORKSPACE


def make_vault(root: Path) -> list[str]:
    """Make what is missing of a vault's folders, and a page that says what they are for; the folders made."""
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
    """Add the vault `vault` in the data folder for the first workspace, unless the settings speak of
    vaults."""
    if "folders" in settings.vaults.model_fields_set:
        return settings
    vaults = settings.vaults.model_copy(update={"folders": {WORKSPACE: settings.data_dir / "vault"}})
    return settings.model_copy(update={"vaults": vaults})


def _make(root: Path, name: Path, rights: int) -> None:
    """A folder below the root, and what lies between, with the root's rights."""
    for path in (*reversed([root / parent for parent in name.parents if parent.name]), root / name):
        if not path.is_dir():
            path.mkdir()
            path.chmod(rights)
