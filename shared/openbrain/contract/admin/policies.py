"""A workspace's lifecycle policies: scheduled jobs, legal holds and retention."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from openbrain.contract.admin.lifecycle import (
    MOST_DAYS,
    BackfillOrgBody,
    CleanBody,
    ConsolidateBody,
    DedupeBody,
    LifecycleBody,
    MemoryFilter,
    PruneBody,
    RefileBody,
)
from openbrain.contract.base import Answer, Body
from openbrain.domain.events.data import NAME_PATTERN
from openbrain.domain.times import to_datetime
from openbrain.ports.lifecycle import NO_EDITION, PolicyDocument, Run

MOST = 50
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=50)]
Schedule = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9A-Za-z*,/#L-]+( [0-9A-Za-z*,/#L-]+){4}$", max_length=100),
    Field(description="Cron expression, in UTC: `30 3 * * *` is every night at 3:30."),
]


class _Policy(Body, extra="forbid"):
    name: Name
    schedule: Schedule
    job: str
    body: LifecycleBody

    def run(self, workspace_id: str, at: int) -> Run:
        """Return the run from which the housekeeper starts operations."""
        request = self.body.request(workspace_id, at)
        return Run(name=self.name, kind=self.job, schedule=self.schedule, request=request)


class PrunePolicy(_Policy):
    """A scheduled prune."""

    job: Literal["prune"]
    body: PruneBody


class DedupePolicy(_Policy):
    """A scheduled dedupe."""

    job: Literal["dedupe"]
    body: DedupeBody


class ConsolidatePolicy(_Policy):
    """A scheduled consolidation."""

    job: Literal["consolidate"]
    body: ConsolidateBody


class CleanPolicy(_Policy):
    """A scheduled clean."""

    job: Literal["clean"]
    body: CleanBody


class RefilePolicy(_Policy):
    """A scheduled refile."""

    job: Literal["refile"]
    body: RefileBody


class BackfillOrgPolicy(_Policy):
    """A scheduled org backfill."""

    job: Literal["backfill-org"]
    body: BackfillOrgBody


Policy = Annotated[
    PrunePolicy | DedupePolicy | ConsolidatePolicy | CleanPolicy | RefilePolicy | BackfillOrgPolicy,
    Field(
        discriminator="job",
        json_schema_extra=lambda schema: schema.pop("discriminator") and None,  # not part of JSON Schema
        description="`body` is the body of `POST /v1/admin/lifecycle:JOB`: a dry run unless dry_run is false.",
    ),
]
Days = Annotated[int | None, Field(strict=True, ge=1, le=MOST_DAYS)]


class RetentionBody(Body, extra="forbid"):
    """Days after which data is removed; null: never, or as the server's settings say."""

    forgotten_days: Annotated[Days, Field(description="Forgotten memories are erased; a proof remains.")] = None
    superseded_days: Annotated[Days, Field(description="Superseded memories are erased.")] = None
    expired_days: Annotated[Days, Field(description="Expired memories are erased.")] = None
    archived_days: Annotated[
        int | None,
        Field(
            strict=True,
            ge=30,
            le=MOST_DAYS,
            description="Archived memories are erased; at least 30, so that an undo stays possible.",
        ),
    ] = None
    history_days: Annotated[
        Days, Field(description="Audit entries lose the texts of memories; who did what and when is kept.")
    ] = None
    recall_days: Annotated[
        Days, Field(description="Results of recalls are removed, if the settings keep them for longer.")
    ] = None
    operation_days: Annotated[
        Days, Field(description="Finished operations are removed, if the settings keep them for longer.")
    ] = None


class PoliciesBody(Body, extra="forbid"):
    """The complete document: it replaces the previous one."""

    policies: Annotated[tuple[Policy, ...], Field(max_length=MOST, description="Scheduled jobs.")] = ()
    legal_hold: Annotated[
        tuple[MemoryFilter, ...],
        Field(
            max_length=MOST,
            description="No job, policy or retention touches memories that match one of these; {} matches all.",
        ),
    ] = ()
    retention: Annotated[RetentionBody, Field(description="How long data is kept.")] = RetentionBody()

    @model_validator(mode="after")
    def _named_apart(self) -> Self:
        if len({policy.name for policy in self.policies}) != len(self.policies):
            raise ValueError("policies must have unique names: operations are identified by them")
        return self

    def document(self, workspace_id: str, actor: str, at: int) -> PolicyDocument:
        return PolicyDocument(
            workspace_id=workspace_id,
            given=self.model_dump(mode="json", exclude_unset=True),
            runs=tuple(policy.run(workspace_id, at) for policy in self.policies),
            holds=tuple(hold.criteria() for hold in self.legal_hold),
            retention=self.retention.model_dump(exclude_none=True),
            actor=actor,
        )


class PoliciesAnswer(Answer):
    """The document as it was stored, and by whom and when; empty if there is none."""

    policies: tuple[dict[str, Any], ...] = ()
    legal_hold: tuple[dict[str, Any], ...] = ()
    retention: dict[str, int | None] = Field(default_factory=dict)
    actor: str | None = None
    updated_at: datetime | None = None
    edition: str = Field(default=NO_EDITION, description="For `If-Match`, in quotes.")

    @classmethod
    def standing(cls, document: PolicyDocument | None) -> Self:
        """Return the response for the stored document."""
        given = {} if document is None else document.given
        return cls(
            policies=tuple(given.get("policies", ())),
            legal_hold=tuple(given.get("legal_hold", ())),
            retention=given.get("retention", {}),
            actor=None if document is None else document.actor,
            updated_at=None if document is None else to_datetime(document.updated_at),
            edition=NO_EDITION if document is None else document.edition,
        )


class Kept(Answer):
    """The retention of one kind of data."""

    what: str
    days: int | None = Field(description="null: kept forever.")
    by: Literal["workspace", "settings"] = Field(description="Where the retention is set.")


class RetentionAnswer(Answer):
    """The retention of a workspace in days, by kind of data."""

    kept: tuple[Kept, ...]
    held: bool = Field(description="Whether there is a legal hold: nothing that it covers is removed.")
