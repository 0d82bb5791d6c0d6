"""Applies the content policy to all texts of an object at once, masking each in place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel

from openbrain.domain.signals.values import Raise
from openbrain.ports.content import Admission, ContentPolicy, NamedText

M = TypeVar("M", bound=BaseModel)
SHORTEST_LIMIT: Final = 100
"""Every free-text field allows this length. A mask may be longer than the masked text; a text is cut at its original
length, or at this one if that is more."""
_NAMES: Final = frozenset({"agent_id", "agents", "org", "project", "session_id"})
"""Members that are compared byte for byte: a masked one would name something else."""
_WITHOUT_TEXT: Final = frozenset({type(None), bool, int, float})


@dataclass(frozen=True, slots=True)
class LookedAt:
    """The changed fields, and tags that describe the findings in unchanged ones."""

    changed: dict[str, Any]
    tags: tuple[str, ...] = ()


def admitted_fields(fields: Mapping[str, Any], admission: Admission) -> dict[str, Any]:
    """Return the fields that the policy changes. Raise `Invalid` like `look_at`."""
    return look_at(fields, admission).changed


def look_at(fields: Mapping[str, Any], admission: Admission, *, refusing: bool = True) -> LookedAt:
    """Apply the policy to texts, including those in lists, objects and models. Unchanged if all are admitted as they
    are. Raise `Invalid`, naming the field, if a text is refused; with `refusing=False` mask it instead."""
    texts = texts_of(fields)
    if not texts:
        return LookedAt({})
    admitted = admission.admit(texts, refusing=refusing)
    if all(new is text or new == text for new, (_, text) in zip(admitted.texts, texts, strict=True)):
        return LookedAt({}, admitted.tags)
    new = iter([_cut(new, *given) for given, new in zip(texts, admitted.texts, strict=True)])
    rebuilt = {name: _rebuilt(value, new) for name, value in fields.items()}
    return LookedAt({name: value for name, value in rebuilt.items() if value != fields[name]}, admitted.tags)


def texts_of(fields: Mapping[str, Any]) -> list[NamedText]:
    """Collect all texts that the policy examines."""
    texts: list[NamedText] = []
    for name, value in fields.items():
        if value:
            _collect(name, value, texts)
    return texts


def admitted_model(model: M, admission: Admission) -> M:
    """Return the model with its admitted texts; names, and members that only select memories, as they are."""
    changed = admitted_fields(_members(model, _NAMES), admission)
    return model.model_copy(update=changed) if changed else model


def admitted_raise(given: Raise, content_policy: ContentPolicy) -> Raise:
    """Return the raise with its admitted texts."""
    texts = {name: getattr(given, name) for name in ("source", "title", "content", "dedup_key")}
    changed = admitted_fields(texts, content_policy.of(given.workspace_id))
    return replace(given, **changed) if changed else given


def _collect(name: str, value: object, texts: list[NamedText]) -> None:
    kind = type(value)
    if kind is str:
        if value:
            texts.append((name, cast(str, value)))
    elif kind in _WITHOUT_TEXT:
        return
    elif isinstance(value, BaseModel):
        _collect_members(name, _members(value), texts)
    elif kind is dict or isinstance(value, Mapping):
        _collect_members(name, cast(Mapping[str, Any], value), texts)
    elif kind is tuple or (isinstance(value, Sequence) and not isinstance(value, str | bytes)):
        for item in cast(Sequence[Any], value):
            _collect(name, item, texts)


def _members(model: BaseModel, names: frozenset[str] = frozenset()) -> dict[str, Any]:
    apart: frozenset[str] = names | getattr(model, "selecting", frozenset())
    return {name: value for name, value in vars(model).items() if name not in apart}


def _collect_members(name: str, members: Mapping[str, Any], texts: list[NamedText]) -> None:
    for key, value in members.items():
        texts.append((name.partition(".")[0], key))
        _collect(f"{name}.{key}", value, texts)


def _rebuilt(value: Any, new: Iterator[str]) -> Any:
    """Takes the new texts in the order of `texts_of`."""
    if type(value) is str:
        return next(new) if value else value
    if isinstance(value, BaseModel):
        return value.model_copy(update={next(new): _rebuilt(var, new) for var in _members(value).values()})
    if isinstance(value, Mapping):
        return {next(new): _rebuilt(item, new) for item in value.values()}
    if isinstance(value, tuple):
        rebuilt = [_rebuilt(item, new) for item in value]
        # Names are unique, and two may have become the same mask.
        return tuple(dict.fromkeys(rebuilt) if all(isinstance(item, str) for item in rebuilt) else rebuilt)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_rebuilt(item, new) for item in value]
    return value


def _cut(admitted: str, field: str, text: str) -> str:
    if field == "content" or len(admitted) <= SHORTEST_LIMIT or admitted == text:
        return admitted
    return admitted[: max(len(text), SHORTEST_LIMIT)]
