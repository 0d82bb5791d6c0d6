"""Free metadata in the shape that readers of the text index find, however deep it is and whatever its keys hold."""

from collections.abc import Iterator, Mapping


def flat(metadata: Mapping[str, object]) -> dict[str, list[str]]:
    """`{"a": {"b": [1, "x"]}}` as `{"a.b": ["1", "x"]}`. Nulls are left out; true and false are written as in JSON."""
    found: dict[str, list[str]] = {}
    for path, value in _leaves("", metadata):
        found.setdefault(path.replace("\0", " "), []).append(value)
    return found


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(path, part)
    elif isinstance(value, bool):
        yield path, "true" if value else "false"
    elif value is not None:
        yield path, str(value)
