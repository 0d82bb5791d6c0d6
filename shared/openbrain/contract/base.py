"""What every answer is, and what a refusal says."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Base of every answer. Clients ignore members that they don't know."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RateLimit(Answer):
    """Why a request came too soon."""

    limit: int = Field(description="Requests a minute.")
    remaining: int
    retry_after: int = Field(description="Seconds.")


class Problem(Answer):
    """An error: the members that clients of the original know, and those of RFC 9457."""

    error: str
    message: str
    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    limit: int | None = Field(default=None, description="Of the quota that `field` names.")
    used: int | None = Field(default=None, description="Of that quota.")
    rate_limit: RateLimit | None = None
    head: str | None = Field(default=None, description="The memory that now stands at the end of the chain.")
    stored: Literal["no", "unknown"] | None = Field(
        default=None, description="Of a write that failed with 5xx: whether anything of it may have been stored."
    )
