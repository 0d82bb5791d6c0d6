"""Detects a data folder whose database is missing while its indexes exist: no new database is created there unasked."""

from pathlib import Path

from openbrain.domain.errors import SetupError

INDEXES = ("text", "vectors")


def refuse_lost(folder: Path, database: Path) -> None:
    """Raise `SetupError`, which names every remedy, if the database is missing but indexes exist."""
    if database.exists() or not (left := _left(folder)):
        return
    names = " and ".join(f"{item.name}/" for item in left)
    raise SetupError(
        f"{database} is missing, and {names} beside it hold what was indexed of it: put the database back from a "
        "backup (docs/operations/backup.md), or move the folder away or choose another with --data, or begin an empty "
        "brain here with `openbrain up --new`, which sets the indexes aside"
    )


def set_aside(folder: Path, database: Path) -> list[Path]:
    """If the database is missing, rename the indexes and return their new names."""
    if database.exists():
        return []
    return [item.rename(_free(item)) for item in _left(folder)]


def _left(folder: Path) -> list[Path]:
    left = [folder / name for name in INDEXES]
    return [item for item in left if item.is_dir() and any(item.iterdir())]


def _free(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.aside-{number}")).exists():
        number += 1
    return aside
