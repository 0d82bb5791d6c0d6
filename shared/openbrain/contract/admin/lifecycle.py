"""Lifecycle jobs on memories, each with a preview and an undo."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import Answer, Body
from openbrain.contract.brain.filters import Agents, AnyTags, Sources, Types
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.events.submission import Agent, Confidence, NewOrg, NewProject, Org, Project
from openbrain.domain.memory import DAY, Scope
from openbrain.ports.lifecycle import Selection, kept

MOST_DAYS = 36_500
MOST_ORGS = 1000
Days = Annotated[int, Field(strict=True, ge=0, le=MOST_DAYS)]


class MemoryFilter(Body, extra="forbid"):
    """The memories concerned: of the whole workspace, of any agent. An unknown member is refused."""

    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    type: Types = ()
    agent_id: Annotated[Agents, Field(description="Who wrote it.")] = ()
    source: Sources = ()
    tags: Annotated[AnyTags, Field(description="At least one of them.")] = ()

    def criteria(self) -> Criteria:
        return Criteria(
            org=self.org or "",
            project=self.project or "",
            only_project=True,
            types=self.type,
            agents=self.agent_id,
            sources=self.source,
            tags=self.tags,
        )


class LifecycleBody(MemoryFilter):
    """The arguments that every job has."""

    older_than_days: Annotated[
        Days, Field(description="Only what was made, and last confirmed, so many days ago or before.")
    ] = 0
    dry_run: Annotated[bool, Field(strict=True, description="Only tell what would be done.")] = True

    def selection(self, workspace_id: str, at: int) -> Selection:
        """Of this workspace, as of that time."""
        made_by = at - self.older_than_days * DAY
        return Selection(workspace_id=workspace_id, criteria=self.criteria(), at=at, made_by=made_by)

    def request(self, workspace_id: str, at: int) -> dict[str, Any]:
        """Of the operation, as JSON values."""
        return {**kept(self.selection(workspace_id, at)), "rule": self.rule(), "dry_run": self.dry_run}

    def rule(self) -> dict[str, Any]:
        """Members of the job itself, without filters, as JSON values."""
        return self.model_dump(mode="json", exclude=set(LifecycleBody.model_fields), exclude_none=True)


class PruneBody(LifecycleBody):
    """The memories to archive: those that meet every limit given. At least one limit, or an age, is needed."""

    max_confidence: Annotated[Confidence | None, Field(description="At most this.")] = None
    max_effective_confidence: Annotated[Confidence | None, Field(description="The same, as it has faded by now.")] = (
        None
    )
    min_confidence: Annotated[Confidence | None, Field(description="What is below goes, as in the original.")] = None
    min_effective_confidence: Annotated[Confidence | None, Field(description="The same, as it has faded by now.")] = (
        None
    )
    unrecalled_days: Annotated[
        Days | None, Field(description="No recall has found it for so many days, and it is as old.")
    ] = None

    @model_validator(mode="after")
    def _limited(self) -> Self:
        if not self.older_than_days and not self.rule():
            own = [name for name in PruneBody.model_fields if name not in LifecycleBody.model_fields]
            raise ValueError(f"give at least one of {', '.join((*own, 'older_than_days'))}")
        return self


class DedupeBody(LifecycleBody):
    """Of memories that say the same in one place the best stays; the others are archived behind it."""


class ConsolidateBody(LifecycleBody):
    """Memories about the same become one that says all that they say; the others are archived behind it."""

    threshold: Annotated[
        float, Field(strict=True, ge=0.8, le=1, description="How near two must be, by the cosine of their vectors.")
    ] = 0.95
    reasoned: Annotated[
        bool,
        Field(
            strict=True,
            description="Let the model that is set word the merged text, where it adds no number, name or date.",
        ),
    ] = False


class CleanBody(LifecycleBody):
    """The rules by which stored memories are corrected, in every state but erased. At least one is needed."""

    strip_pii: Annotated[
        bool, Field(strict=True, description="Mask personal data, or hash it where the workspace's rule is `hash`.")
    ] = False
    strip_secrets: Annotated[bool, Field(strict=True, description="Mask keys, tokens, passwords.")] = False
    normalise: Annotated[
        bool, Field(strict=True, description="One form of texts, one spelling of tags and projects.")
    ] = False

    @model_validator(mode="after")
    def _ruled(self) -> Self:
        if not (self.strip_pii or self.strip_secrets or self.normalise):
            raise ValueError("give at least one of strip_pii, strip_secrets, normalise")
        return self


class RefileBody(LifecycleBody):
    """The place where memories are filed. At least one part of it is needed, and one filter."""

    to_org: Annotated[NewOrg | None, Field(description='"" for no org.')] = None
    to_project: Annotated[NewProject | None, Field(description='"" for no project.')] = None
    to_memory_scope: Annotated[
        Literal[Scope.AGENT, Scope.PROJECT, Scope.SHARED] | None,
        Field(description="Who sees them. What no agent wrote can't become one agent's, and stays as it is."),
    ] = None
    to_agent_id: Annotated[Agent | None, Field(description="Whose they are.")] = None

    @model_validator(mode="after")
    def _from_and_to(self) -> Self:
        own = [name for name in RefileBody.model_fields if name not in LifecycleBody.model_fields]
        if not self.rule():
            raise ValueError(f"give at least one of {', '.join(own)}")
        filters = [name for name in LifecycleBody.model_fields if name != "dry_run"]
        if not any(getattr(self, name) for name in filters):
            raise ValueError(f"give at least one of {', '.join(filters)}")
        return self


class BackfillOrgBody(LifecycleBody):
    """Memories of a project and of no org get an org: the one named here, or the one that all others of the project
    have."""

    orgs: Annotated[dict[Project, Org] | None, Field(max_length=MOST_ORGS, description="By project.")] = None
    to_org: Annotated[Org | None, Field(description="Of projects with no org, or with several.")] = None


class LifecycleStarted(Answer):
    """The operation that does it, or that looks what would be done: watch it. Its result has counts by action, how many
    a legal hold or the tag `pinned` keeps (`held`), how many meet a memory that says the same (`conflicts`), and the
    first 20 `examples`, each with why."""

    dry_run: bool
    operation: OperationAnswer
