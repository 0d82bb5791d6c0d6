"""A workspace's lifecycle policies: the jobs that run by themselves, and legal holds."""

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
from openbrain.domain.times import to_datetime
from openbrain.ports.lifecycle import PolicyDocument, Run

MOST = 50
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=50)]
Schedule = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9A-Za-z*,/#L-]+( [0-9A-Za-z*,/#L-]+){4}$", max_length=100),
    Field(description="When, as cron says it, in UTC: `30 3 * * *` is each night."),
]


class _Policy(Body, extra="forbid"):
    name: Name
    schedule: Schedule
    job: str
    body: LifecycleBody

    def run(self, workspace_id: str, at: int) -> Run:
        """Request of an operation that the housekeeper starts."""
        request = self.body.request(workspace_id, at)
        return Run(name=self.name, kind=self.job, schedule=self.schedule, request=request)


class PrunePolicy(_Policy):
    """Prune by itself."""

    job: Literal["prune"]
    body: PruneBody


class DedupePolicy(_Policy):
    """Deduplicate by itself."""

    job: Literal["dedupe"]
    body: DedupeBody


class ConsolidatePolicy(_Policy):
    """Consolidate by itself."""

    job: Literal["consolidate"]
    body: ConsolidateBody


class CleanPolicy(_Policy):
    """Clean by itself."""

    job: Literal["clean"]
    body: CleanBody


class RefilePolicy(_Policy):
    """Refile by itself."""

    job: Literal["refile"]
    body: RefileBody


class BackfillOrgPolicy(_Policy):
    """Give orgs by itself."""

    job: Literal["backfill-org"]
    body: BackfillOrgBody


Policy = Annotated[
    PrunePolicy | DedupePolicy | ConsolidatePolicy | CleanPolicy | RefilePolicy | BackfillOrgPolicy,
    Field(
        discriminator="job",
        json_schema_extra=lambda schema: schema.pop("discriminator") and None,  # no word of JSON Schema
        description="`body` is what `POST /v1/admin/lifecycle:JOB` takes: it only tells unless dry_run is false.",
    ),
]
Days = Annotated[int | None, Field(strict=True, ge=1, le=MOST_DAYS)]


class RetentionBody(Body, extra="forbid"):
    """Days after which something leaves; null: never, or where the settings say so."""

    forgotten_days: Annotated[Days, Field(description="Memories that were forgotten are erased: a proof stays.")] = None
    superseded_days: Annotated[Days, Field(description="The same of those that others took the place of.")] = None
    expired_days: Annotated[Days, Field(description="The same of those whose time had come.")] = None
    archived_days: Annotated[
        int | None, Field(strict=True, ge=30, le=MOST_DAYS, description="The same of archived ones; an undo needs 30.")
    ] = None
    history_days: Annotated[
        Days, Field(description="Lines of the audit say no more what a memory said; who did what when stays.")
    ] = None
    recall_days: Annotated[Days, Field(description="What recalls found, where the settings keep it for longer.")] = None
    operation_days: Annotated[Days, Field(description="Operations that ended, the same.")] = None


class PoliciesBody(Body, extra="forbid"):
    """The whole document: what stood there before is gone."""

    policies: Annotated[tuple[Policy, ...], Field(max_length=MOST, description="Jobs that run by themselves.")] = ()
    legal_hold: Annotated[
        tuple[MemoryFilter, ...],
        Field(max_length=MOST, description="No job, policy or retention takes what one of these matches; {} is all."),
    ] = ()
    retention: Annotated[RetentionBody, Field(description="What leaves after how many days.")] = RetentionBody()

    @model_validator(mode="after")
    def _named_apart(self) -> Self:
        if len({policy.name for policy in self.policies}) != len(self.policies):
            raise ValueError("policies must have names of their own: operations tell them by it")
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
    """The document as it was given, who gave it and when; empty where nobody did."""

    policies: tuple[dict[str, Any], ...] = ()
    legal_hold: tuple[dict[str, Any], ...] = ()
    retention: dict[str, int | None] = Field(default_factory=dict)
    actor: str | None = None
    updated_at: datetime | None = None

    @classmethod
    def standing(cls, document: PolicyDocument | None) -> Self:
        """Answer from the stored document."""
        given = {} if document is None else document.given
        return cls(
            policies=tuple(given.get("policies", ())),
            legal_hold=tuple(given.get("legal_hold", ())),
            retention=given.get("retention", {}),
            actor=None if document is None else document.actor,
            updated_at=None if document is None else to_datetime(document.updated_at),
        )


class Kept(Answer):
    """The retention of one kind of data."""

    what: str
    days: int | None = Field(description="Null: for ever.")
    by: Literal["workspace", "settings"] = Field(description="Who said so.")


class RetentionAnswer(Answer):
    """The retention of a workspace in days, by kind."""

    kept: tuple[Kept, ...]
    held: bool = Field(description="A legal hold stands: nothing of it leaves that the hold bears on.")
