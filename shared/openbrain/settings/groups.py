"""What every group of settings is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0)]


class Group(BaseModel):
    """Base of a group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
