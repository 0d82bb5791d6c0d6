"""The generations of the indexes, and their verification."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import Answer, Body, QueryString, WorkspaceName
from openbrain.domain.events.submission import Moment, Org, Project
from openbrain.ports.store.generations import GenerationStatus, IndexKind

MOST_A_SECOND = 1_000_000
MemoryRate = Annotated[
    int | None, Field(strict=True, ge=1, le=MOST_A_SECOND, description="Memories per second at most; null: no limit.")
]
FailureCount = Annotated[int, Field(strict=True, ge=0, le=MOST_A_SECOND)]
NARROWING = ("workspace_id", "org", "project", "since", "stale")


class ReindexBody(Body, extra="forbid"):
    """Build an index anew while the current one serves; or, with `in_place` or any filter, rewrite memories in the
    existing index."""

    index: Annotated[IndexKind, Field(description="Which index.")]
    in_place: Annotated[bool, Field(strict=True, description="Rewrite memories in the existing index.")] = False
    workspace_id: WorkspaceName | None = None
    org: Org | None = None
    project: Project | None = None
    since: Annotated[Moment | None, Field(description="Only memories changed at or after this time.")] = None
    stale: Annotated[bool, Field(strict=True, description="Only memories that the index is not known to contain.")] = (
        False
    )
    re_embed: Annotated[bool, Field(strict=True, description="Compute known vectors again with the model.")] = False
    rate: MemoryRate = None
    max_failures: Annotated[
        FailureCount, Field(description="Let the new index serve even if this many memories could not be written.")
    ] = 0
    dry_run: Annotated[bool, Field(strict=True, description="Only report how many memories.")] = False

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.re_embed and self.index is not IndexKind.VECTOR:
            raise ValueError("re_embed is for the index `vector`")
        return self

    @property
    def narrowed(self) -> bool:
        """Whether memories are rewritten in the existing index."""
        return self.in_place or any(getattr(self, name) for name in NARROWING)


class GenerationsQuery(QueryString):
    """Selects an index; both if left out."""

    index: IndexKind | None = None


class DropQuery(QueryString, extra="forbid"):
    """The options of removing a generation."""

    dry_run: Annotated[bool, Field(description="Only report what would be removed.")] = False


class VerifyBody(Body, extra="forbid"):
    """The options of a verification. Nothing is changed unless `repair` or `restored` is asked for."""

    full: Annotated[bool, Field(strict=True, description="Compare every entry, even where the checksums agree.")] = (
        False
    )
    repair: Annotated[bool, Field(strict=True, description="Make the indexes equal to the database.")] = False
    restored: Annotated[
        bool,
        Field(
            strict=True,
            description="The database was restored to an earlier state: index everything again, with revisions above "
            "any that an index has seen. Includes `repair`.",
        ),
    ] = False


class GenerationAnswer(Answer):
    """One generation of an index: an Elasticsearch index, a Qdrant collection or a folder."""

    index: IndexKind
    name: str
    status: GenerationStatus = Field(description="All generations except retired ones are kept up to date.")
    model: str = Field(description="Name of the embedding model; empty for text.")
    model_identity: str = Field(description="The model with its digest and dimensions; empty for text.")
    dimensions: int = Field(description="0 for text.")
    builder: str = Field(description="Version of the format of its entries.")
    created_at: datetime
    updated_at: datetime = Field(description="When its status last changed.")


class GenerationList(Answer):
    """Generations: the serving one of each index first, then the newest."""

    generations: tuple[GenerationAnswer, ...]
    count: int


class GenerationDropped(Answer):
    """The generation that was removed, or would be."""

    dry_run: bool
    generation: GenerationAnswer


class Reindexed(Answer):
    """The entries to write again, and the operation that writes them; null for a dry run."""

    dry_run: bool
    index: IndexKind
    in_place: bool
    total: int = Field(description="Number of memories.")
    serving: str = Field(description="The generation that serves now.")
    operation: OperationAnswer | None
