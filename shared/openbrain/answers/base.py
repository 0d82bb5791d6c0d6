"""What every answer is, and what a refusal says."""

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Base of every answer. Clients ignore members that they don't know."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Problem(Answer):
    """An error: the members that clients of the original know, and those of RFC 9457."""

    error: str
    message: str
    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    head: str | None = Field(default=None, description="The memory that now stands at the end of the chain.")
