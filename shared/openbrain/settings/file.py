"""The settings file: TOML with the groups as tables; and errors in the environment, which wins over it."""

import json
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic_settings import SettingsError

from openbrain.domain.errors import SetupError

NAME = "openbrain.toml"
PREFIX = "OPENBRAIN_"


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


def not_json(error: SettingsError, environment: Mapping[str, str | None]) -> SetupError:
    """The error for a variable whose setting is a list or a table, and whose value is not JSON; the value is not shown.
    `error`: from pydantic, which does not name the variable. `environment`: its values, by name."""
    cause = error.__cause__
    value = cause.doc if isinstance(cause, json.JSONDecodeError) else None
    given = [name.upper() for name, text in environment.items() if text == value and name.upper().startswith(PREFIX)]
    named = f"the setting {' or '.join(sorted(given))}" if given else "a setting in the environment"
    return SetupError(
        f'{named} can\'t be used: write it as JSON, a list as ["a", "b"] and a table as {{"name": "value"}}'
    )


def names(table: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every value and table."""
    for name, value in table.items():
        yield (*at, name)
        if isinstance(value, dict):
            yield from names(value, (*at, name))
