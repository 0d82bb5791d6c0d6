"""What exports and imports are asked with."""

from typing import Annotated

from pydantic import Field

from openbrain.submission import Moment, Org, Project
from openbrain.transfer import CURSOR
from openbrain_api.requests import AgentList, QueryString, ScopeList, SessionQuery, SourceList, TagList, TypeList


class ExportQuery(SessionQuery):
    """What to export."""

    many = frozenset({"type", "tags", "source", "agent_id", "include_scopes"})

    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    type: TypeList = ()
    agent_id: Annotated[AgentList, Field(description="Who wrote it.")] = ()
    source: SourceList = ()
    tags: Annotated[TagList, Field(description="At least one of them.")] = ()
    include_scopes: ScopeList = ()
    min_confidence: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    since: Moment | None = None
    until: Moment | None = None
    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="Of the last mark that was read: goes on from there.")
    ] = None


class ImportQuery(QueryString):
    """How to import."""

    dry_run: Annotated[bool, Field(description="Only tell what would become of each line.")] = False
