"""Errors in environment variables, by the variable's name. A value is never shown: it may be a secret."""

import json
from collections.abc import Mapping

from pydantic_settings import SettingsError

from openbrain.domain.errors import SetupError


def not_json(error: SettingsError, environment: Mapping[str, str]) -> SetupError:
    """The error for a variable whose setting is a list or a table, and whose value is not JSON. `error`: from pydantic,
    which does not name it."""
    cause = error.__cause__
    value = cause.doc if isinstance(cause, json.JSONDecodeError) else None
    names = [name for name, text in environment.items() if text == value and name.upper().startswith("OPENBRAIN_")]
    named = f"the setting {' or '.join(sorted(names))}" if names else "a setting in the environment"
    return SetupError(
        f'{named} can\'t be used: write it as JSON, a list as ["a", "b"] and a table as {{"name": "value"}}'
    )
