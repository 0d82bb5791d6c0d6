"""Error messages for invalid arguments of tools. They say what the tool accepts."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_MUST = {
    "missing": "is missing",
    "extra_forbidden": "is unknown",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters",
    "too_long": "must be at most {max_length} of them",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "enum": "must be one of {expected}",
    "literal_error": "must be one of {expected}",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_pattern_mismatch": "must match {pattern}",
}
_NESTED = "filter"


def sentence(tool: str, error: ValidationError) -> str:
    """Say what is wrong with each argument, without quoting its value."""
    problems: dict[str, str] = {}
    for item in error.errors(include_input=False, include_url=False):
        problems.setdefault(_argument(item["loc"]), _problem(item["type"], item["msg"], item.get("ctx") or {}))
    return f"{tool}: {'; '.join(f'{argument} {problem}' for argument, problem in problems.items())}"


def _argument(location: tuple[int | str, ...]) -> str:
    """The argument's name. The rest of a location names the tried member of a union."""
    names = location[:2] if location[:1] == (_NESTED,) else location[:1]
    return ".".join(map(str, names)) or "the arguments"


def _problem(kind: str, message: str, limits: Mapping[str, Any]) -> str:
    if kind not in _MUST:
        return message.removeprefix("Value error, ")
    return _MUST[kind].format(**{name: _plain(value) for name, value in limits.items()})


def _plain(value: Any) -> Any:
    return value.replace("'", "") if isinstance(value, str) else value
