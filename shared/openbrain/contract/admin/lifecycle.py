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
    """Filters of the memories of the whole workspace, of any agent. Unknown members are refused."""

    selecting = frozenset({"agent_id", "source", "tags"})

    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    type: Types = ()
    agent_id: Annotated[Agents, Field(description="The author.")] = ()
    source: Sources = ()
    tags: Annotated[AnyTags, Field(description="Memories with at least one of these.")] = ()

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
    """The members that every job has."""

    older_than_days: Annotated[
        Days, Field(description="Only memories that were both created and last confirmed at least this many days ago.")
    ] = 0
    dry_run: Annotated[bool, Field(strict=True, description="Only report what would be done.")] = True

    def selection(self, workspace_id: str, at: int) -> Selection:
        """Return the selection in this workspace, as of this time."""
        made_by = at - self.older_than_days * DAY
        return Selection(workspace_id=workspace_id, criteria=self.criteria(), at=at, made_by=made_by)

    def request(self, workspace_id: str, at: int) -> dict[str, Any]:
        """Return the request of the operation, as JSON values."""
        return {**kept(self.selection(workspace_id, at)), "rule": self.rule(), "dry_run": self.dry_run}

    def rule(self) -> dict[str, Any]:
        """Return the members of the job itself, without the filters, as JSON values."""
        return self.model_dump(mode="json", exclude=set(LifecycleBody.model_fields), exclude_none=True)


class PruneBody(LifecycleBody):
    """The memories to archive: those that meet every limit given. At least one limit or `older_than_days` is needed."""

    max_confidence: Annotated[Confidence | None, Field(description="Stored confidence of at most this.")] = None
    max_effective_confidence: Annotated[
        Confidence | None, Field(description="Confidence after decay of at most this.")
    ] = None
    min_confidence: Annotated[
        Confidence | None, Field(description="Stored confidence below this, as in the original.")
    ] = None
    min_effective_confidence: Annotated[Confidence | None, Field(description="Confidence after decay below this.")] = (
        None
    )
    unrecalled_days: Annotated[
        Days | None, Field(description="At least this many days old, and not found by a recall for as long.")
    ] = None

    @model_validator(mode="after")
    def _limited(self) -> Self:
        if not self.older_than_days and not self.rule():
            own = [name for name in PruneBody.model_fields if name not in LifecycleBody.model_fields]
            raise ValueError(f"give at least one of {', '.join((*own, 'older_than_days'))}")
        return self


class DedupeBody(LifecycleBody):
    """Archives duplicates: of memories that say the same, with the same org, project, type and audience, all but the
    best."""


class ConsolidateBody(LifecycleBody):
    """Merges memories about the same thing into one that says all that they say, and archives the others."""

    threshold: Annotated[
        float, Field(strict=True, ge=0.8, le=1, description="Minimum cosine of the vectors of two memories.")
    ] = 0.95
    reasoned: Annotated[
        bool,
        Field(
            strict=True,
            description="Let the configured model write the merged text; its text is used only if it adds no number, "
            "name or date.",
        ),
    ] = False


class CleanBody(LifecycleBody):
    """The rules by which stored memories are corrected, in every state but erased. At least one rule is needed."""

    strip_pii: Annotated[
        bool, Field(strict=True, description="Mask personal data, or hash it if the workspace's rule is `hash`.")
    ] = False
    strip_secrets: Annotated[bool, Field(strict=True, description="Mask keys, tokens, passwords.")] = False
    normalise: Annotated[
        bool, Field(strict=True, description="Normalise the form of texts and the spelling of tags and projects.")
    ] = False

    @model_validator(mode="after")
    def _ruled(self) -> Self:
        if not (self.strip_pii or self.strip_secrets or self.normalise):
            raise ValueError("give at least one of strip_pii, strip_secrets, normalise")
        return self


class RefileBody(LifecycleBody):
    """Where memories are moved to. At least one of the `to_` members and one filter are needed."""

    to_org: Annotated[NewOrg | None, Field(description='The new value; "" for no org.')] = None
    to_project: Annotated[NewProject | None, Field(description='The new value; "" for no project.')] = None
    to_memory_scope: Annotated[
        Literal[Scope.AGENT, Scope.PROJECT, Scope.SHARED] | None,
        Field(
            description="Who can read them. A memory without an agent can't get the scope `agent`, and stays as it is."
        ),
    ] = None
    to_agent_id: Annotated[Agent | None, Field(description="Their new agent.")] = None

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
    """Gives an org to memories that have a project and no org: the one named here for the project, or the one that all
    other memories of the project have."""

    orgs: Annotated[dict[Project, Org] | None, Field(max_length=MOST_ORGS, description="Orgs by project.")] = None
    to_org: Annotated[Org | None, Field(description="The org for projects with no known org or several.")] = None


class LifecycleStarted(Answer):
    """The operation that does the job, or its dry run: watch it. Its result has counts by action, the number kept by a
    legal hold or the tag `pinned` (`held`), the number that collide with a memory that says the same (`conflicts`), and
    the first 20 `examples`, each with its reason."""

    dry_run: bool
    operation: OperationAnswer
