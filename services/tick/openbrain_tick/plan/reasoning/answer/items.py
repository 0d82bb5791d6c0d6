"""A model's answer: its JSON Schema, and its parsing item by item, so that a bad item does not affect the others."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model

from openbrain.domain.events.envelope import first_problem
from openbrain.domain.text.displayed import escaped
from openbrain.vault.pages.bodies import clipped

EDGE_TYPES = ("parent", "child", "sibling", "unblocks", "supersedes", "related")
"""By priority, for a pair of arcs with several edges."""
ITEMS = 200
"""Maximum number of items of one kind per answer."""
BRACES = 50
_CUT = "ends too early: its complete items are used; OPENBRAIN_REASONER__ANSWER_TOKENS limits its length"
_FENCED = re.compile(r"\A\s*```(?:json)?[^\S\n]*+\n(.*?)\n?```\s*\Z", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_CLOSES = {"{": "}", "[": "]"}
_OUTSIDE = (["{"], ["{", "["])
"""Open brackets outside of items: in the object itself, or in one of its lists."""


def _one_line(text: str) -> str:
    """Put a text on one line, without invisible characters and leading Markdown marks (heading, quote, table, fence).
    ValueError for comment marks."""
    if "<!--" in text or "-->" in text:
        raise ValueError("must hold no comment marks")
    spaced = "".join(" " if unicodedata.category(item) == "Cc" else item for item in text)
    line = " ".join(escaped(spaced, lambda _: "").split())
    return line.lstrip("#>|`~ ")


def _some_line(text: str) -> str:
    line = _one_line(text)
    if not line:
        raise ValueError("must hold some words")
    return line


Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255)]
Line = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_one_line)]
Words = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_some_line)]
Title = Annotated[str, StringConstraints(max_length=200), AfterValidator(_some_line)]


class Item(BaseModel):
    """Base of what a model may recommend."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Edge(Item):
    """`source` is joined to `target`."""

    source: Id
    type: Annotated[Id, Field(json_schema_extra={"enum": [*EDGE_TYPES]})]
    target: Id
    reason: Line = ""


class Merge(Item):
    """Two arcs are about the same work: `absorb` is merged into `keep`."""

    keep: Id
    absorb: Id
    title: Title
    reason: Line = ""


class Part(Item):
    """One arc that a split makes, with the sessions that it takes."""

    title: Title
    sessions: Annotated[tuple[Id, ...], Field(max_length=ITEMS)] = ()


class Split(Item):
    """One arc is about several pieces of work: each part becomes a new arc."""

    arc: Id
    into: Annotated[tuple[Part, ...], Field(min_length=2, max_length=8)]
    reason: Line = ""


class SignalChange(Item):
    """`signal` is the identity given in the prompt; without it, `source` must belong to exactly one signal."""

    op: Literal["escalate", "clear"]
    signal: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)] | None = None
    source: Id
    severity: Id | None = None
    reason: Line = ""


class Intent(Item):
    """The likely intent of the operator."""

    text: Words
    evidence: Annotated[tuple[Id, ...], Field(max_length=50)] = ()


class Health(Item):
    """Health of the vault, 0 to 10."""

    score: Annotated[int, Field(ge=0, le=10)]
    reason: Line = ""


class Summary(Item):
    """One sentence about an arc."""

    arc: Id
    text: Words


class Synthesis(Item):
    """New texts for the sections of an arc."""

    arc: Id
    timeline: Annotated[tuple[Line, ...], Field(max_length=20)] = ()
    lessons: Annotated[tuple[Line, ...], Field(max_length=8)] = ()
    resolution: Line = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused item, such as `edges[3]`, and why."""

    item: str
    reason: str


Placed = TypeVar("Placed", bound=Item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The readable items, each by its place in the model's answer, such as `edges[3]`."""

    edges: Mapping[str, Edge]
    merges: Mapping[str, Merge]
    splits: Mapping[str, Split]
    signals: Mapping[str, SignalChange]
    summaries: Mapping[str, Summary]
    syntheses: Mapping[str, Synthesis]
    intent: Intent | None = None
    health: Health | None = None
    refused: tuple[Refused, ...] = ()


LISTS: Mapping[str, type[Item]] = {
    "edges": Edge,
    "merges": Merge,
    "splits": Split,
    "signals": SignalChange,
    "summaries": Summary,
    "syntheses": Synthesis,
}
SINGLE: Mapping[str, type[Item]] = {"intent": Intent, "health": Health}


def from_json(text: str) -> Answer | None:
    """Parse an answer; None if there is no JSON object. Text around the object is ignored; of a truncated object the
    complete items are used."""
    fenced = _FENCED.match(text)
    found = _object(fenced.group(1) if fenced else text.strip())
    if found is None:
        found = next((item for item in _objects_in(text) if not _ALL.isdisjoint(item)), None)
    if found is not None:
        return from_items(found)
    cut = _object(_closed(text))
    return None if cut is None else from_items(cut, (Refused("answer", _CUT),))


def _object(text: str) -> dict[str, object] | None:
    try:
        given = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return given if isinstance(given, dict) else None


def _objects_in(text: str) -> Iterator[dict[str, object]]:
    """Find complete objects in a text, in order. Only the first BRACES opening braces are tried."""
    decoder = json.JSONDecoder()
    for begin in islice(re.finditer("[{]", text), BRACES):
        with suppress(ValueError, RecursionError):
            _, end = decoder.raw_decode(text, begin.start())
            if (value := _object(text[begin.start() : end])) is not None:
                yield value


def _closed(text: str) -> str:
    """The truncated object in the text, closed after its last complete member or list item; '' if there is none. A
    truncated item is dropped."""
    begin = text.find("{")
    if begin < 0:
        return ""
    depth: list[str] = []
    whole = ""
    for token in _TOKEN.finditer(text, begin):
        mark = token.group()
        if mark in _CLOSES:
            depth.append(mark)
        elif mark in _CLOSES.values():
            if not depth or _CLOSES[depth.pop()] != mark:
                break
            if depth in _OUTSIDE:
                whole = text[begin : token.end()] + "".join(_CLOSES[item] for item in reversed(depth))
            elif not depth:
                break
    return whole


def from_items(given: Mapping[str, object], refused: tuple[Refused, ...] = ()) -> Answer:
    """Parse the items. Invalid ones are refused, each with its reason."""
    problems = [
        *refused,
        *(Refused(clipped(name, 120), "is no part of an answer") for name in given if name not in _ALL),
    ]
    taken: dict[str, Any] = {}
    for name, model in LISTS.items():
        taken[name] = dict(_items(name, given.get(name), model, problems))
    for name, model in SINGLE.items():
        if given.get(name) is not None:
            taken[name] = _item(name, given[name], model, problems)
    return Answer(**taken, refused=tuple(problems))


def _items(name: str, given: object, model: type[Placed], problems: list[Refused]) -> Iterator[tuple[str, Placed]]:
    if given is None:
        return
    if not isinstance(given, list):
        problems.append(Refused(name, "must be a list"))
        return
    if len(given) > ITEMS:
        problems.append(Refused(f"{name}[{ITEMS}:]", f"only {ITEMS} of a kind are taken from one answer"))
    for number, value in enumerate(given[:ITEMS]):
        place = f"{name}[{number}]"
        item = _item(place, value, model, problems)
        if item is not None:
            yield place, item


def _item(place: str, given: object, model: type[Placed], problems: list[Refused]) -> Placed | None:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        field, why = first_problem(error)
        problems.append(Refused(place, clipped(f"{field}: {why}" if field else why, 120)))
        return None


_ALL = {*LISTS, *SINGLE}


def schema() -> dict[str, Any]:
    """The JSON Schema of an answer. Strict, as servers that enforce a schema require: all members required, no
    others."""
    fields: dict[str, Any] = {
        **{name: (list[model], ...) for name, model in LISTS.items()},  # type: ignore[valid-type]
        **{name: (model | None, ...) for name, model in SINGLE.items()},
    }
    made: dict[str, Any] = _strict(create_model("Answer", **fields).model_json_schema())
    return made


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        name: _strict(value) for name, value in node.items() if name not in _LOOSE or not isinstance(value, str | int)
    }
    kept.pop("default", None)
    if kept.get("type") == "object" and "properties" in kept:
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


_LOOSE = {"title", "description", "minLength", "maxLength", "minItems", "maxItems"}
