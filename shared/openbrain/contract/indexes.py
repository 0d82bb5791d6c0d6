"""Answers about the generations of the indexes."""

from datetime import datetime

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.contract.operations import OperationAnswer
from openbrain.ports.generations import GenerationStatus, IndexKind


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
    """What is written again, and the operation that does it; none for a dry run."""

    dry_run: bool
    index: IndexKind
    in_place: bool
    total: int = Field(description="Memories.")
    serving: str = Field(description="The generation that answers now.")
    operation: OperationAnswer | None
