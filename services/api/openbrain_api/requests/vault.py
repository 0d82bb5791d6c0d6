"""What the routes of the vault take."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from openbrain.domain.submission import Content, Metadata, Project, Tag, Tags
from openbrain.vault.limits import PATH_CHARS
from openbrain_api.requests.memories import Body, QueryString

POST_CHARS = 4096
ATTRS = 50

Path = Annotated[str, StringConstraints(max_length=PATH_CHARS)]
Attr = Annotated[str, StringConstraints(strict=True, max_length=POST_CHARS)]
Name = Annotated[str, StringConstraints(max_length=100)]


class MarkerBody(Body):
    """What an agent learned, reached, decided, or saw burn."""

    type: Literal["lesson", "milestone", "signal", "decision"]
    content: Annotated[str, StringConstraints(strict=True, pattern=r"\S", max_length=POST_CHARS)]
    attrs: Annotated[
        dict[Name, Attr | int | float | bool | None],
        Field(max_length=ATTRS, description="`source`, `session_id`, of a signal `severity`, and whatever else."),
    ] = Field(default_factory=dict)


class InboxBody(Body):
    """A page for the inbox: the next tick files it by its tags."""

    content: Content
    title: Annotated[Project | None, Field(description="Else the first line.")] = None
    filename: Annotated[Project | None, Field(description="A part of the page's name.")] = None
    tags: Tags = ()


class ArtifactBody(Body):
    """A text that agents should find; under the same key it replaces the one before."""

    key: Annotated[Project, Field(description="Its name, the same each time.")]
    content: Content
    content_type: Tag | None = None
    producer: Tag | None = None
    metadata: Metadata | None = None


class ListQuery(QueryString):
    """Which files."""

    path: Annotated[Path, Field(description="The folder; '' is the vault.")] = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 200
    cursor: Annotated[Path | None, Field(description="`next_cursor` of the list before.")] = None


class ReadQuery(QueryString):
    """Which file."""

    path: Annotated[Path, Field(min_length=1)]


class SearchQuery(QueryString):
    """Which words, and where."""

    q: Annotated[str, StringConstraints(pattern=r"\S", max_length=500)]
    path: Annotated[Path, Field(description="The folder; '' is the vault.")] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
