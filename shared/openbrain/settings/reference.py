"""All settings as lines, for the reference page and `openbrain settings`."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from openbrain.settings import Loaded, Settings
from openbrain.settings.groups import Group

_PASSWORD = re.compile(r"(?<=://)([^:/]*):.*@", re.DOTALL)
"""As far as the last `@`: drivers take a password that contains `/` or `@`."""
_IN_QUERY = re.compile(r"(?<=[?&])([\w.-]*(?:password|token|key|secret|sig|signature))=[^&\s\"]+", re.IGNORECASE)
HIDDEN = "(hidden)"
_ALONE = {"config": "Data", "data_dir": "Data", "disk_reserve_mb": "Data", "otlp_endpoint": "Traces"}
"""Headings of the settings that are in no group; the others are original names."""
_INTRODUCTION = (
    "Read from the environment once, at start. Groups and names are joined by two underscores; lists and tables are "
    "JSON. A file `openbrain.toml` can set the same, with a table for each group: OPENBRAIN_STREAMS__URL is `url` in "
    "`[streams]`, OPENBRAIN_DATA_DIR is `data_dir` before all tables. The file is the one that `--config` or "
    "OPENBRAIN_CONFIG names, else `~/.openbrain/openbrain.toml`; a file in the working folder is not read unless "
    "named. The environment wins over the file. `openbrain settings` shows the values that a process would use, and "
    "their sources. A variable with an unknown group or name is refused at start, and so is a setting's name with "
    "too many or too few underscores, or with a singular for a plural. Numbers that operators need not change are in "
    "`shared/openbrain/settings/tuning.py`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One setting."""

    name: str
    """The setting's name in the environment."""
    kind: str
    default: str
    about: str
    secret: bool
    path: tuple[str, ...]
    """Path of members of `Settings` to it."""


def lines() -> Iterator[Line]:
    """Yield all settings, in the order of the class: the groups, then the original names."""
    schema = Settings.model_json_schema(by_alias=False)
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Group):
            properties = schema["$defs"][field.annotation.__name__]["properties"]
            for member, inner in field.annotation.model_fields.items():
                if member != "tuning":
                    yield _line(f"OPENBRAIN_{name}__{member}".upper(), (name, member), inner, properties[member])
        else:
            yield _line(_names(name, field), (name,), field, schema["properties"][name])


def page() -> str:
    """Return the text of docs/reference/settings.md."""
    text = ["# Settings", "", _INTRODUCTION]
    group: str | None = None
    for line in lines():
        alone = _ALONE.get(line.path[0], "Original names")
        heading = line.path[0].capitalize() if len(line.path) > 1 else alone
        if heading != group:
            group = heading
            text += ["", f"## {group}", "", "| name | values | default | meaning |", "|---|---|---|---|"]
        default = line.default and f"`{line.default}`"
        text.append(f"| {line.name} | {line.kind} | {default} | {line.about} |".replace("  ", " "))
    return "\n".join(text) + "\n"


def effective(settings: Settings) -> Mapping[str, str]:
    """Return the values in use, by name; secrets and passwords in URLs are hidden."""
    return {line.name: _shown(attrgetter(".".join(line.path))(settings), secret=line.secret) for line in lines()}


def origins(loaded: Loaded) -> Mapping[str, str]:
    """Return the source of each value, by name: `environment`, the file's path, or `default`."""
    of_file = {path: str(loaded.file) for path in loaded.in_file}
    return {
        line.name: "environment" if _is_set(loaded.environment, line.path) else of_file.get(line.path, "default")
        for line in lines()
    }


def _is_set(settings: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if name not in settings.model_fields_set:
            return False
        settings = getattr(settings, name)
    return True


def _shown(value: Any, *, secret: bool) -> str:
    if secret:
        return HIDDEN if value else ""
    return _json(_without_passwords(value))


def _without_passwords(value: Any) -> Any:
    if isinstance(value, str):
        return _IN_QUERY.sub(rf"\1={HIDDEN}", _PASSWORD.sub(rf"\1:{HIDDEN}@", value))
    if isinstance(value, Mapping):
        return {name: _without_passwords(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_passwords(each) for each in value]
    return value


_HOME = str(Path.home())


def _names(member: str, field: FieldInfo) -> str:
    if isinstance(field.validation_alias, AliasChoices):
        return ", ".join(str(choice) for choice in field.validation_alias.choices)
    return f"OPENBRAIN_{member}".upper()


def _line(name: str, path: tuple[str, ...], field: FieldInfo, schema: Mapping[str, Any]) -> Line:
    return Line(
        name=name,
        kind=_kind(schema),
        default=_json(field.get_default(call_default_factory=True)),
        about=field.description or "",
        secret=not field.repr,
        path=path,
    )


def _json(value: Any) -> str:
    if isinstance(value, Path):
        return str(value).replace(_HOME, "~")
    if isinstance(value, Group):
        return json.dumps(value.model_dump(exclude_unset=True))
    return value if isinstance(value, str) else json.dumps(value, default=str)


_BOUNDS = (("minimum", ">= {}"), ("exclusiveMinimum", "> {}"), ("maximum", "<= {}"), ("exclusiveMaximum", "< {}"))


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return "table"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(item) for item in schema["anyOf"])
    kind = str(schema.get("type", "text"))
    if kind == "array":
        kind = f"list of {_kind(schema['items'])}" if "items" in schema else "list"
    bounds = [text.format(schema[name]) for name, text in _BOUNDS if name in schema]
    return " ".join([_PLAIN.get(kind, kind), ", ".join(bounds)]).strip()


_PLAIN = {"string": "text", "object": "table", "null": "none"}
