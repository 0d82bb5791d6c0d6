"""What the tools take, in every form that clients of either generation send."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope


def _said(advice: str) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if not text.strip():
            raise ValueError(f"is empty: {advice}")
        return text

    return checked


Content = Annotated[
    str,
    Field(max_length=limits.CONTENT_CHARS, description="What was learned, so that it stands alone. No secrets."),
    AfterValidator(_said("say what was learned, so that it stands alone")),
]
Kind = Annotated[MemoryType, Field(description="What kind of knowledge it is; decides how fast it fades.")]
Tags = Annotated[list[str] | None, Field(max_length=limits.TAGS, description="Words to find it by.")]
Org = Annotated[str | None, Field(max_length=limits.ORG_CHARS, description="Organisation.")]
Project = Annotated[str | None, Field(max_length=limits.PROJECT_CHARS, description="Project within the org.")]
Confidence = Annotated[float | None, Field(ge=0, le=1, description="How sure you are; 1 where left out.")]
MinConfidence = Annotated[
    float | None,
    Field(ge=0, le=1, description="Only what was stored with at least this confidence, from 0 to 1, before it fades."),
]
Supersedes = Annotated[str | None, Field(description="Id of the memory that this one replaces.")]
Hours = Annotated[int | None, Field(ge=1, description="Forget it after so many hours.")]
Agent = Annotated[str | None, Field(max_length=limits.AGENT_CHARS, description="Speak for this agent, if allowed.")]
Workspace = Annotated[str | int | None, Field(description="Passed over: the key decides.")]
ScopeName = Annotated[Scope | None, Field(description="agent: for yourself; shared: for all projects of the org.")]
Session = Annotated[str | None, Field(max_length=limits.SESSION_CHARS, description="The session you are in.")]
Source = Annotated[str | None, Field(max_length=limits.SOURCE_CHARS, description="Where it comes from.")]
Query = Annotated[
    str,
    Field(max_length=limits.QUERY_CHARS, description="What you want to know, in plain words."),
    AfterValidator(_said("say what you want to know, in plain words")),
]
Count = Annotated[int | None, Field(ge=1, le=limits.TOP_K, description="How many at most.")]
Types = Annotated[MemoryType | list[MemoryType] | None, Field(description="Only of this type, or these.")]
Words = Annotated[list[str] | None, Field(max_length=limits.KEYWORDS, description="Words that lift what holds them.")]
Boost = Annotated[float | list[str] | None, Field(description="A number: what all keywords add. A list: more words.")]
Author = Annotated[str | list[str] | None, Field(description="Only what this agent wrote.")]
Id = Annotated[str, Field(description="The memory's id.")]
Reason = Annotated[str | None, Field(max_length=limits.REASON_CHARS, description="Why, for the audit.")]
Cursor = Annotated[str | None, Field(description="next_cursor of an answer, to go on.")]


class Filter(BaseModel):
    """The nested form; an argument of the same name beside it wins."""

    org: Org = None
    project: Project = None
    type: Types = None
    agent_id: Author = None
    min_confidence: MinConfidence = None


def given(**arguments: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in arguments.items() if value is not None}


def filters(nested: Filter | None, **beside: Any) -> dict[str, Any]:
    """One set of filters from both forms, as the client takes them."""
    merged = {**given(**dict(nested or {})), **given(**beside)}
    if "agent_id" in merged:
        merged["author"] = merged.pop("agent_id")
    return merged
