"""What the routes of indexes take."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from openbrain.domain.submission import Moment, Org, Project
from openbrain.ports.generations import IndexKind
from openbrain_api.requests.admin import WorkspaceName
from openbrain_api.requests.memories import Body, QueryString

MOST_A_SECOND = 1_000_000
NARROWING = ("workspace_id", "org", "project", "since", "stale")


class ReindexBody(Body):
    """Make an index anew beside the one that serves; or, with `in_place` or anything that narrows it down, write
    memories again where they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: Annotated[IndexKind, Field(description="Which index.")]
    in_place: Annotated[bool, Field(strict=True, description="Write memories again, into the index that is there.")] = (
        False
    )
    workspace_id: WorkspaceName | None = None
    org: Org | None = None
    project: Project | None = None
    since: Annotated[Moment | None, Field(description="Changed then or later.")] = None
    stale: Annotated[bool, Field(strict=True, description="Only what the index is not known to hold.")] = False
    re_embed: Annotated[bool, Field(strict=True, description="Ask the model again for vectors that are known.")] = False
    rate: Annotated[
        int | None, Field(strict=True, ge=1, le=MOST_A_SECOND, description="Memories a second at most; null: no limit.")
    ] = None
    max_failures: Annotated[
        int, Field(strict=True, ge=0, le=MOST_A_SECOND, description="Let it serve though so many could not be written.")
    ] = 0
    dry_run: Annotated[bool, Field(strict=True, description="Only tell how many memories.")] = False

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.re_embed and self.index is not IndexKind.VECTOR:
            raise ValueError("re_embed is for the index `vector`")
        return self

    @property
    def narrowed(self) -> bool:
        """Whether it is about memories where they are."""
        return self.in_place or any(getattr(self, name) for name in NARROWING)


class GenerationsQuery(QueryString):
    """Of which index; without, of both."""

    index: IndexKind | None = None


class DropQuery(QueryString):
    """Look first."""

    dry_run: Annotated[bool, Field(description="Only tell what would go.")] = False
