"""The indexes' generations, and their verification."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import Answer, Body, QueryString, WorkspaceName
from openbrain.domain.events.submission import Moment, Org, Project
from openbrain.ports.store.generations import GenerationStatus, IndexKind

MOST_A_SECOND = 1_000_000
NARROWING = ("workspace_id", "org", "project", "since", "stale")


class ReindexBody(Body, extra="forbid"):
    """Make an index anew beside the one that serves; or, with `in_place` or anything that narrows it down, write
    memories again where they are."""

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


class VerifyBody(Body, extra="forbid"):
    """The options of a verification. Nothing is changed unless `repair` or `restored` is asked for."""

    full: Annotated[bool, Field(strict=True, description="Compare every entry, also where the sums agree.")] = False
    repair: Annotated[bool, Field(strict=True, description="Make the indexes equal to the truth.")] = False
    restored: Annotated[
        bool,
        Field(
            strict=True,
            description="The database was put back to an earlier state: index everything again, above "
            "what any index has seen. Includes `repair`.",
        ),
    ] = False


class GenerationAnswer(Answer):
    """One index: an Elasticsearch index, a Qdrant collection, a folder."""

    index: IndexKind
    name: str
    status: GenerationStatus = Field(description="All but a retired one are kept current.")
    model: str = Field(description="Name of the embedding model; empty for text.")
    model_identity: str = Field(description="The model with its digest and dimensions; empty for text.")
    dimensions: int = Field(description="0 for text.")
    builder: str = Field(description="Version of what is written.")
    created_at: datetime
    updated_at: datetime = Field(description="Since when it has its status.")


class GenerationList(Answer):
    """The serving one of each index first, then the newest first."""

    generations: tuple[GenerationAnswer, ...]
    count: int


class GenerationDropped(Answer):
    """One that was removed, or would be."""

    dry_run: bool
    generation: GenerationAnswer


class Reindexed(Answer):
    """The entries to write again, and the operation that writes them; none for a dry run."""

    dry_run: bool
    index: IndexKind
    in_place: bool
    total: int = Field(description="Memories.")
    serving: str = Field(description="The generation that answers now.")
    operation: OperationAnswer | None
