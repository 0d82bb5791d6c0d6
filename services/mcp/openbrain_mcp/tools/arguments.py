"""Arguments of the tools, in all forms that older and newer clients send."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from pydantic import AfterValidator, BaseModel, Field, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.signals.values import Severity, SignalState


def _not_empty(advice: str) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if not text.strip():
            raise ValueError(f"is empty: {advice}")
        return text

    return checked


def _texts(about: str) -> WithJsonSchema:
    """The listed schema: a string or a list of strings."""
    return WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}, "description": about})


def _one_of(values: Iterable[str], **more: str) -> WithJsonSchema:
    """The listed schema: one of these strings."""
    return WithJsonSchema({"type": "string", "enum": [str(value) for value in values], **more})


TITLE_CHARS = limits.KEYWORD_CHARS
_OF_HOSTS = frozenset({"action", "chatInput", "sessionId", "tool", "toolCallId", "workspace_id"})
"""Arguments that clients of the original and some hosts (n8n) add to every call: they are ignored, and so is what
begins with an underscore."""
CHANNEL_S = 3600

Content = Annotated[
    str,
    Field(max_length=limits.CONTENT_CHARS, description="What was learned, so that it stands alone."),
    AfterValidator(_not_empty("say what was learned, so that it stands alone")),
]
Kind = Annotated[MemoryType, _one_of(MemoryType)]
Tags = Annotated[list[str] | None, Field(max_length=limits.TAGS, description="Words to find it by.")]
MemoryTitle = Annotated[str | None, Field(max_length=limits.TITLE_CHARS, description="What it is called.")]
Aliases = Annotated[list[str] | None, Field(max_length=limits.ALIASES, description="Other names of it.")]
Org = Annotated[str | None, Field(max_length=limits.ORG_CHARS)]
Project = Annotated[str | None, Field(max_length=limits.PROJECT_CHARS, description="Omitted: found from every one.")]
AnyProject = Annotated[
    str | None, Field(max_length=limits.PROJECT_CHARS, description="This one, and memories of no project.")
]
OnlyProject = Annotated[str | None, Field(max_length=limits.PROJECT_CHARS, description="Only of this one.")]
ExactProject = Annotated[
    str | None, Field(max_length=limits.PROJECT_CHARS, description="Exactly this one; recall adds those of no project.")
]
Confidence = Annotated[float | None, Field(ge=0, le=1, description="How sure you are; default 1.")]
MinConfidence = Annotated[
    float | None,
    Field(ge=0, le=1, description="Only what was stored with at least this confidence, before it fades."),
]
Supersedes = Annotated[str | None, Field(description="Id of the memory that this one replaces.")]
Hours = Annotated[int | None, Field(ge=1, description="Hours until it is forgotten.")]
Agent = Annotated[str | None, Field(max_length=limits.AGENT_CHARS, description="Speak for this agent, if allowed.")]
Workspace = Annotated[str | int | None, Field(description="Ignored: the key decides.")]
ScopeName = Annotated[Scope | None, _one_of(Scope, description="agent: yours alone; shared: all projects.")]
Scopes = Annotated[Scope | list[Scope] | None, _texts("Only of agent, project, shared or session.")]
Session = Annotated[str | None, Field(max_length=limits.SESSION_CHARS, description="The session you are in.")]
Source = Annotated[str | None, Field(max_length=limits.SOURCE_CHARS, description="Where it comes from.")]
Query = Annotated[
    str,
    Field(max_length=limits.QUERY_CHARS, description="What you want to know, in plain words."),
    AfterValidator(_not_empty("say what you want to know, in plain words")),
]
Match = Annotated[
    Literal["meaning", "names"] | None, Field(description="names: only what is called something in the question.")
]
Precision = Annotated[Literal["exact", "balanced", "recall"] | None, _one_of(("exact", "balanced", "recall"))]
Turns = Annotated[int | None, Field(ge=0, le=limits.AROUND, description="Also turns around each hit.")]
AsOf = Annotated[str | None, Field(description="As it was at that time: 2026-03-01T12:00:00Z.")]
Linked = Annotated[bool | None, Field(description="Links instead.")]
Fold = Annotated[bool | None, Field(description="False: near-equal ones too.")]
SearchWords = Annotated[
    str,
    Field(max_length=limits.QUERY_CHARS, description='Any of these words; "quoted words" follow each other.'),
    AfterValidator(_not_empty("give the words to look for")),
]
Fuzzy = Annotated[bool | None, Field(description="Forgive typos.")]
Count = Annotated[int | None, Field(ge=1, le=limits.TOP_K)]
Types = Annotated[MemoryType | list[MemoryType] | None, _texts("Only of these types.")]
Words = Annotated[list[str] | None, Field(max_length=limits.KEYWORDS, description="They raise what contains them.")]
Boost = Annotated[float | list[str] | None, Field(description="A number: what all keywords add. A list: more words.")]
Author = Annotated[str | list[str] | None, _texts("Only what this agent wrote.")]
Id = Annotated[str, Field(description="The memory's id.")]
RecallId = Annotated[str, Field(description="From the recall's answer.")]
Ids = Annotated[list[str] | None, Field(max_length=limits.TOP_K)]
Reason = Annotated[str | None, Field(max_length=limits.REASON_CHARS, description="Why, for the audit.")]
Cursor = Annotated[str | None, Field(description="From an answer, to go on.")]
History = Annotated[bool | None, Field(description="Its audit and its chain too.")]
Confirm = Annotated[bool | None, Field(description="Still true: it fades from now on.")]

OwnName = Annotated[str | None, Field(max_length=limits.AGENT_CHARS, description="Whose; default: the key's.")]
Budget = Annotated[int | None, Field(ge=200, le=100_000, description="Limit of the answer; default 2,000.")]
Page = Annotated[int | None, Field(ge=1, le=limits.LIST_LIMIT)]
Recipient = Annotated[str, Field(max_length=limits.AGENT_CHARS, description="The agent's name.")]
Other = Annotated[str, Field(max_length=limits.AGENT_CHARS, description="The other agent's name.")]
Letter = Annotated[
    str,
    Field(max_length=limits.CONTENT_CHARS, description="What it should know, so that it stands alone."),
    AfterValidator(_not_empty("say what the other agent should know")),
]
Subject = Annotated[str | None, Field(max_length=limits.SUBJECT_CHARS)]
After = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="From an answer: those after this number.")]
UpTo = Annotated[int, Field(ge=1, le=2**53 - 1, description="The seq of the last one.")]
Unread = Annotated[bool | None, Field(description="Only what is not marked as read.")]

Standing = Annotated[str | None, Field(max_length=limits.QUERY_CHARS, description="A question that stays open.")]
Near = Annotated[float | None, Field(ge=0, le=1, description="Minimum; default 0.5.")]
SubscriptionId = Annotated[str, Field(description="The subscription's id.")]

Thought = Annotated[
    str,
    Field(max_length=limits.THOUGHT_CHARS, description="What was said, as it was said."),
    AfterValidator(_not_empty("say what was said")),
]
Metadata = Annotated[
    dict[str, Any] | None, Field(description="Free; sessionId and turn say which turn it is: it is stored once.")
]
MetadataFilter = Annotated[
    dict[str, str | int | bool] | None,
    Field(max_length=limits.METADATA_FILTERS, description="Only with these members in its metadata."),
]

SignalId = Annotated[str, Field(description="The alarm's id.")]
SignalStates = Annotated[SignalState | list[SignalState] | None, _texts("Only in these states.")]
SignalSeverity = Annotated[Severity, _one_of(Severity)]
MinSeverity = Annotated[Severity | None, _one_of(Severity, description="That one or worse.")]
SignalSource = Annotated[str, Field(max_length=limits.SOURCE_CHARS, description="The service, host or check.")]
SignalTitle = Annotated[
    str,
    Field(max_length=TITLE_CHARS, description="One line: what burns."),
    AfterValidator(_not_empty("say in one line what burns")),
]
SignalText = Annotated[str | None, Field(max_length=limits.CONTENT_CHARS, description="What is known, what to do.")]
Seconds = Annotated[int | None, Field(ge=1, description="Seconds until it ends by itself.")]
Channel = Annotated[
    str, Field(max_length=64, pattern=r"^[a-zA-Z0-9._-]+$", description="Its name, such as brain or deploys.")
]
Message = Annotated[
    str,
    Field(max_length=limits.CONTENT_CHARS, description="What all agents should know."),
    AfterValidator(_not_empty("say what all agents should know")),
]
ChannelSeverity = Annotated[
    Literal["info", "warning", "alert", "critical", "nuclear"] | None,
    _one_of(("info", "warning", "alert", "critical", "nuclear")),
]

Heat = Annotated[int | None, Field(ge=0, le=10, description="Minimum, 0 to 10; default 2, 0 for all.")]
Score = Annotated[float | None, Field(ge=0, le=1, description="The share of the words that must occur.")]
ArcId = Annotated[str, Field(max_length=limits.PROJECT_CHARS, description="From a list of arcs.")]
Title = Annotated[str | None, Field(max_length=limits.PROJECT_CHARS, description="Else the first line.")]
DryRun = Annotated[bool | None, Field(description="Write nothing.")]
NoModel = Annotated[bool | None, Field(description="Do not ask the model.")]


class Filter(BaseModel, extra="forbid"):
    """The nested form; an argument of the same name beside it wins."""

    org: Org = None
    project: Project = None
    type: Types = None
    agent_id: Author = None
    min_confidence: MinConfidence = None


class Arguments(FuncMetadata):
    """Reads arguments that are JSON within text, like the SDK, but leaves text alone where an argument is text. Unknown
    arguments are refused: a misspelt filter would match more, a misspelt dry run would write."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        taken = self.arg_model.model_fields
        for name, value in arguments_to_validate.items():
            # Some hosts give a tool that takes none an argument that stands for none.
            if taken and name not in taken and value is not None and not _of_a_host(name):
                raise _unknown(name, taken)
        return super().validate_arguments(arguments_to_validate)

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        parsed = super().pre_parse_json(data)
        if parsed == data:
            return data
        try:
            self.arg_model.model_validate(parsed)
        except ValidationError as error:
            refused = {item["loc"][0] for item in error.errors(include_input=False, include_url=False) if item["loc"]}
            return {name: data[name] if name in refused else value for name, value in parsed.items()}
        return parsed


def _of_a_host(name: str) -> bool:
    return name in _OF_HOSTS or name.startswith("_")


def _unknown(name: str, taken: Iterable[str]) -> ValidationError:
    problem = PydanticCustomError("unknown", "is unknown: there are {taken}", {"taken": ", ".join(taken)})
    return ValidationError.from_exception_data("arguments", [InitErrorDetails(type=problem, loc=(name,), input=None)])


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def filters(nested: Filter | None, **beside: Any) -> dict[str, Any]:
    """Merge both forms into the filters of the client; those `beside` win."""
    merged = {**given(**dict(nested or {})), **given(**beside)}
    if "agent_id" in merged:
        merged["author"] = merged.pop("agent_id")
    return merged
