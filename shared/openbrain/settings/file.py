"""The settings file: TOML with the groups as tables. The environment wins over it."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from openbrain.domain.errors import SetupError

NAME = "openbrain.toml"


def settings_file(named: Path | None) -> Path | None:
    """Return the settings file: the one named, else the one in the home folder, if it exists.

    A file in the working folder may come from somebody else: it is read only if it is named.
    """
    if named is not None and named != Path():  # an empty name counts as none
        path = named.expanduser()
        if not path.is_file():
            raise SetupError(f"there is no settings file {path}: look at --config and OPENBRAIN_CONFIG")
        return path.absolute()
    place = Path.home() / ".openbrain" / NAME
    return place if place.is_file() else None


def read_settings(path: Path, known: Collection[str]) -> dict[str, Any]:
    """Return the settings in the file. `SetupError` names the invalid line or name. `known`: the valid names."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"the settings file {path} can't be read: {error}") from None
    for name in table:
        if name not in known:
            raise SetupError(
                f"the settings file {path} names {name!r}, which is no setting: `openbrain settings` lists them"
            )
    return table


def names(table: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every value and table."""
    for name, value in table.items():
        yield (*at, name)
        if isinstance(value, dict):
            yield from names(value, (*at, name))
