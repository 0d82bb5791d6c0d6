"""The embedding model."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from openbrain.contract.admin.indexes import MOST_A_SECOND
from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import Answer, Body

ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:-]*$", min_length=1, max_length=200)]


class ModelChangeBody(Body, extra="forbid"):
    """The model to change to, and the way it is introduced."""

    model: Annotated[ModelName, Field(description="As the embedding server, or `openbrain models list`, names it.")]
    re_embed: Annotated[bool, Field(strict=True, description="Ask it again for vectors that are known.")] = False
    rate: Annotated[
        int | None, Field(strict=True, ge=1, le=MOST_A_SECOND, description="Memories a second at most; null: no limit.")
    ] = None
    max_failures: Annotated[
        int, Field(strict=True, ge=0, le=MOST_A_SECOND, description="Let it serve though so many can not be embedded.")
    ] = 0
    dry_run: Annotated[bool, Field(strict=True, description="Only tell what it takes.")] = False


class HowChanged(StrEnum):
    """The work that a change of the model needs."""

    NOTHING = "nothing"
    SWITCH = "switch"
    EMBED = "embed"


class ModelAnswer(Answer):
    """A model, as its vectors are told apart."""

    model: str = Field(description="Its name.")
    model_identity: str = Field(description="With digest, dimensions, and versions of prompts and of cutting.")
    dimensions: int


class ModelInUse(Answer):
    """The model that serves: that of the stored vectors, whatever the settings name."""

    serving: ModelAnswer | None = Field(description="null while there is no vector index yet.")
    written: tuple[ModelAnswer, ...] = Field(description="All that vectors are made by now, the serving one first.")
    setting: str = Field(description="The model that the settings name: it made the first index.")
    problem: str | None = Field(description="Why questions can't be embedded by it now.")


class ModelChange(Answer):
    """The work that a change of the model needs, and its operation; none for a dry run, or where it is done."""

    dry_run: bool
    how: HowChanged = Field(
        description="nothing: it serves already; switch: its index was kept and serves at once; embed: all memories "
        "are embedded into an index beside the one that serves."
    )
    to: ModelAnswer
    serving: ModelAnswer = Field(description="The one that answers now.")
    total: int = Field(description="Memories that have vectors, or wait for them.")
    cached: int = Field(description="Model inputs whose vectors by this model are known.")
    operation: OperationAnswer | None
