"""What the routes of the embedding model take."""

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from openbrain_api.requests.indexes import MOST_A_SECOND
from openbrain_api.requests.memories import Body

ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:-]*$", min_length=1, max_length=200)]


class ModelChangeBody(Body):
    """Which model, and how it is brought in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[ModelName, Field(description="As the embedding server, or `openbrain models list`, names it.")]
    re_embed: Annotated[bool, Field(strict=True, description="Ask it again for vectors that are known.")] = False
    rate: Annotated[
        int | None, Field(strict=True, ge=1, le=MOST_A_SECOND, description="Memories a second at most; null: no limit.")
    ] = None
    max_failures: Annotated[
        int, Field(strict=True, ge=0, le=MOST_A_SECOND, description="Let it serve though so many can not be embedded.")
    ] = 0
    dry_run: Annotated[bool, Field(strict=True, description="Only tell what it takes.")] = False
