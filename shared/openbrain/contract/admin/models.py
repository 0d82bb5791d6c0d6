"""The embedding model."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from openbrain.contract.admin.indexes import FailureCount, MemoryRate
from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import Answer, Body

ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:-]*$", min_length=1, max_length=200)]


class ModelChangeBody(Body, extra="forbid"):
    """The model to change to, and the way it is introduced."""

    model: Annotated[ModelName, Field(description="Its name on the embedding server or in `openbrain models list`.")]
    re_embed: Annotated[bool, Field(strict=True, description="Compute known vectors again with it.")] = False
    rate: MemoryRate = None
    max_failures: Annotated[
        FailureCount, Field(description="Let it serve even if this many memories can't be embedded.")
    ] = 0
    dry_run: Annotated[bool, Field(strict=True, description="Only report the work that it takes.")] = False


class HowChanged(StrEnum):
    """The work that a change of the model needs."""

    NOTHING = "nothing"
    SWITCH = "switch"
    EMBED = "embed"


class ModelAnswer(Answer):
    """A model, with all that distinguishes its vectors from others."""

    model: str = Field(description="Its name.")
    model_identity: str = Field(
        description="Its name with digest, dimensions, and versions of its prompts and of text splitting."
    )
    dimensions: int


class ModelInUse(Answer):
    """The model that serves: the one of the stored vectors, which may differ from the settings."""

    serving: ModelAnswer | None = Field(description="null if there is no vector index yet.")
    written: tuple[ModelAnswer, ...] = Field(
        description="All models that vectors are computed with now, the serving one first."
    )
    setting: str = Field(description="The model in the settings: it was used for the first index.")
    problem: str | None = Field(description="Why the serving model can't embed questions now.")


class ModelChange(Answer):
    """The work that a change of the model needs, and its operation; null for a dry run, or if nothing is left to do."""

    dry_run: bool
    how: HowChanged = Field(
        description="nothing: it already serves; switch: its index was kept and serves at once; embed: all memories "
        "are embedded into a new index while the current one serves."
    )
    to: ModelAnswer
    serving: ModelAnswer = Field(description="The model that serves now.")
    total: int = Field(description="Number of memories that have vectors or wait for them.")
    cached: int = Field(description="Number of model inputs whose vectors by this model are already stored.")
    operation: OperationAnswer | None
