"""Base classes and common parts of the REST API's requests and responses."""

from datetime import datetime
from functools import cache
from types import NoneType
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from openbrain.domain import limits
from openbrain.domain.events.data import NAME_PATTERN
from openbrain.domain.events.submission import Agent
from openbrain.domain.ids import UUID
from openbrain.domain.text.instructions import TextLabel
from openbrain.domain.times import to_datetime


class Body(BaseModel):
    """Base of request bodies. `selecting`: members that only select memories. The content policy leaves them as they
    are: masked, they would select other memories."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    selecting: ClassVar[frozenset[str]] = frozenset()


class QueryString(Body):
    """Base of query strings. `many`: parameters that may be repeated. `lenient`: parameters that may be empty, because
    clients of the original send unused filters that way. `objects`: parameters that select a member, as in
    `metadata.key=value` or `metadata[key]=value`."""

    many: ClassVar[frozenset[str]] = frozenset()
    lenient: ClassVar[frozenset[str]] = frozenset()
    objects: ClassVar[frozenset[str]] = frozenset()


CURSOR = rf"^-?[0-9]{{1,18}}\.{UUID}$"
"""created_at, which may be before 1970, and id of the last memory of a page."""
WorkspaceName = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=limits.WORKSPACE_CHARS)]


class WorkspaceQuery(QueryString):
    """The workspace to query. Only admin keys of `system` may name a workspace other than their own."""

    workspace_id: WorkspaceName | None = None


TextLabels = Annotated[
    tuple[TextLabel, ...],
    Field(description="`instruction`: the text tries to tell the model that reads it what to do."),
]
PageSize = Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)]
Asking = Annotated[Agent | None, Field(description="The agent to act as; ignored unless the key's `act_as` allows it.")]
StreamSeconds = Annotated[
    int | None,
    Field(
        ge=0,
        le=86_400,
        description="Seconds until the stream ends; 0: after the missed events; null: never.",
    ),
]


def judged_apart(model: str, most: int) -> WithJsonSchema:
    """The schema of a list whose items are parsed one by one, so that one can be refused without the others."""
    items = {"$ref": f"#/components/schemas/{model}"}
    return WithJsonSchema({"type": "array", "items": items, "minItems": 1, "maxItems": most})


class Answer(BaseModel):
    """Base of every response. Clients ignore unknown members."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    @classmethod
    def of(cls, source: object, /, **others: object) -> Self:
        """Build the response from the attributes of `source` that are named like its members, and from `others`.
        Microseconds become datetimes; an empty string becomes null in a nullable member."""
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
    """The rate limit that the refused request exceeded."""

    limit: int = Field(description="Requests a minute.")
    remaining: int
    retry_after: int = Field(description="Seconds.")


class Problem(Answer):
    """An error, with the members of the original API and those of RFC 9457."""

    error: str
    message: str
    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    limit: int | None = Field(default=None, description="The quota that `field` names.")
    used: int | None = Field(default=None, description="The used part of that quota.")
    rate_limit: RateLimit | None = None
    head: str | None = Field(default=None, description="The memory that is now at the end of the supersede chain.")
    stored: Literal["no", "unknown"] | None = Field(
        default=None,
        description="For a write that failed with 5xx: `no`: nothing was stored; `unknown`: some of it may have been.",
    )
