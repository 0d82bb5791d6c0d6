"""Bases and common parts of what the REST API takes and gives."""

from datetime import datetime
from functools import cache
from types import NoneType
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from openbrain.domain import limits
from openbrain.domain.events.submission import Agent
from openbrain.domain.ids import UUID
from openbrain.domain.text.instructions import TextLabel
from openbrain.domain.times import to_datetime


class Body(BaseModel):
    """Base of bodies."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class QueryString(Body):
    """Base of query strings. Names in `many` may come several times; those in `lenient` may be empty, as clients of the
    original send what they don't narrow by; those in `objects` name a member: `metadata.key=value`, or
    `metadata[key]=value`."""

    many: ClassVar[frozenset[str]] = frozenset()
    lenient: ClassVar[frozenset[str]] = frozenset()
    objects: ClassVar[frozenset[str]] = frozenset()


CURSOR = rf"^[0-9]{{1,18}}\.{UUID}$"
"""created_at and id of the last memory of a page."""
WorkspaceName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=limits.WORKSPACE_CHARS)
]


class WorkspaceQuery(QueryString):
    """The workspace of the keys; another than one's own for admin keys of `system` only."""

    workspace_id: WorkspaceName | None = None


TextLabels = Annotated[
    tuple[TextLabel, ...],
    Field(description="`instruction`: the text tries to tell the model that reads it what to do."),
]
PageSize = Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)]
Asking = Annotated[Agent | None, Field(description="Who asks, where the key may speak for that agent.")]
StreamSeconds = Annotated[
    int | None, Field(ge=0, le=86_400, description="End after so long; 0: with what was missed; null: never.")
]


def judged_apart(model: str, most: int) -> WithJsonSchema:
    """The schema of a list whose items are parsed one by one, so that each may be refused by itself."""
    items = {"$ref": f"#/components/schemas/{model}"}
    return WithJsonSchema({"type": "array", "items": items, "minItems": 1, "maxItems": most})


class Answer(BaseModel):
    """Base of every answer. Clients ignore members that they don't know."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    @classmethod
    def of(cls, source: object, /, **others: object) -> Self:
        """With the attributes that `source` has by the names of the members, and `others`. Microseconds become times,
        and an empty text null where a member may be."""
        names = cls.model_fields.keys() - others
        given = {name: _converted(cls, name, getattr(source, name)) for name in names if hasattr(source, name)}
        return cls.model_validate(given | others)


def _converted(model: type[BaseModel], name: str, value: object) -> object:
    kinds = _kinds(model, name)
    if datetime in kinds and isinstance(value, int):
        return to_datetime(value)
    return None if value == "" and NoneType in kinds else value


@cache
def _kinds(model: type[BaseModel], name: str) -> frozenset[object]:
    annotation = model.model_fields[name].annotation
    return frozenset(get_args(annotation) or (annotation,))


class RateLimit(Answer):
    """The limit of requests that a refused one exceeded."""

    limit: int = Field(description="Requests a minute.")
    remaining: int
    retry_after: int = Field(description="Seconds.")


class Problem(Answer):
    """An error: the members that clients of the original know, and those of RFC 9457."""

    error: str
    message: str
    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    limit: int | None = Field(default=None, description="Of the quota that `field` names.")
    used: int | None = Field(default=None, description="Of that quota.")
    rate_limit: RateLimit | None = None
    head: str | None = Field(default=None, description="The memory that now stands at the end of the chain.")
    stored: Literal["no", "unknown"] | None = Field(
        default=None, description="Of a write that failed with 5xx: whether anything of it may have been stored."
    )
