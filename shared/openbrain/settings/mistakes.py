"""Variables of the environment that can't be used as settings, each named in an error."""

import json
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from pydantic_settings import BaseSettings, EnvSettingsSource

from openbrain.domain.errors import SetupError
from openbrain.settings.groups import Group

PREFIX = "OPENBRAIN_"
_INJECTED = re.compile(r"_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)")
_INJECTED_VALUES = ("tcp://", "udp://", "sctp://")


def refuse_unknown(settings: type[BaseSettings]) -> None:
    """Raise `SetupError` for a variable that looks like a setting and is none: its group is unknown, or it differs from
    a setting only in its underscores and plurals, as OPENBRAIN_STREAM_URL.

    Other variables with the prefix belong to clients and other programs. Kubernetes adds some for each service whose
    name begins with openbrain-.
    """
    for name, value in _variables(settings):
        if _INJECTED.search(name) or value.startswith(_INJECTED_VALUES):
            continue
        group, nested, _ = name.removeprefix(PREFIX).partition("__")
        if group.lower() in settings.model_fields:
            continue
        if nested or _same(name, _names(settings)):
            raise no_setting(settings, name)


def no_setting(settings: type[BaseSettings], name: str) -> SetupError:
    """The error for a name that is no setting's, with the one that was probably meant."""
    names = list(_names(settings))
    near = _same(name, names) or get_close_matches(name, names, 1)
    meant = f"did you mean {near[0]}?" if near else "remove it"
    return SetupError(f"{name} is no setting: {meant} (`openbrain settings` lists them)")


def _same(name: str, names: Iterable[str]) -> list[str]:
    """The names that differ from it only in underscores, else those that differ only in underscores and plurals."""
    known = list(names)
    return [other for other in known if _bare(other, "_") == _bare(name, "_")] or [
        other for other in known if _bare(other, "_S") == _bare(name, "_S")
    ]


def _bare(name: str, without: str) -> str:
    return name.translate(dict.fromkeys(map(ord, without)))


def _variables(settings: type[BaseSettings]) -> Iterator[tuple[str, str]]:
    """The variables with our prefix. Their names count in any case."""
    for name, value in EnvSettingsSource(settings).env_vars.items():
        if name.upper().startswith(PREFIX):
            yield name.upper(), value or ""


def _names(settings: type[BaseSettings]) -> Iterator[str]:
    for name, field in settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Group):
            yield from (f"{PREFIX}{name}__{member}".upper() for member in field.annotation.model_fields)
        elif field.validation_alias is None:
            yield f"{PREFIX}{name}".upper()


def not_json(settings: type[BaseSettings]) -> SetupError:
    """The error for the settings whose value should be JSON and is not."""
    source = EnvSettingsSource(settings)
    found = []
    for name, value in _variables(settings):
        group, *inner = name.removeprefix(PREFIX).lower().split("__")
        field = settings.model_fields.get(group)
        target = source.next_field(field, inner[0]) if field and inner else field
        for step in inner[1:]:
            target = source.next_field(target, step)
        if target is not None and source.field_is_complex(target):
            try:
                json.loads(value)
            except ValueError:
                found.append(name)
    return SetupError(
        f"the setting {', '.join(sorted(found)) or 'of a group'} can't be used: lists and tables are JSON, "
        """as in '["a", "b"]' and '{"name": "value"}'"""
    )
