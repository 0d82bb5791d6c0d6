"""Exports and imports."""

from typing import Annotated

from pydantic import Field

from openbrain.contract.base import Answer, QueryString
from openbrain.contract.brain.filters import BrowseQuery, SubjectFilters
from openbrain.domain.ids import UUID

CURSOR = rf"^-?[0-9]{{1,18}}\.{UUID}$"
"""The cursor of an export: created_at, which may be before 1970, and id."""


class ExportQuery(BrowseQuery, SubjectFilters):
    """The memories to export."""

    many = BrowseQuery.many | {"speaker"}

    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="Of the last mark that was read: goes on from there.")
    ] = None


class ImportQuery(QueryString):
    """The options of an import."""

    dry_run: Annotated[bool, Field(description="Only tell what would become of each line.")] = False


class RefusedLine(Answer):
    """A line that was not taken; the others were."""

    line: int = Field(description="1 is the header.")
    error: str
    message: str
    field: str | None = None


class Imported(Answer):
    """The result of an import."""

    export_id: str
    exact: bool = Field(
        description="Ids, versions, times, chains and history were kept: the workspace was empty and the key an "
        "admin's. Else each living memory was remembered as any other."
    )
    dry_run: bool = Field(description="Nothing was stored: the counts are what would be.")
    lines: int = Field(description="Read, with header and footer.")
    created: int = Field(description="Memories.")
    present: int = Field(description="Memories that stood there already, by id or by what they say.")
    skipped: int = Field(description="Memories that had ended: they come back in an exact import only.")
    history: int = Field(description="Lines of the audit, created.")
    lineage: int = Field(description="Links of chains, created.")
    vectors: int = Field(default=0, description="Vectors that came with memories and were taken over.")
    vectors_left: int = Field(default=0, description="Vectors that were not: those memories are embedded as any other.")
    vectors_problem: str | None = Field(default=None, description="Why the first of those was not.")
    refused: int = Field(description="Lines.")
    refusals: tuple[RefusedLine, ...] = Field(description="The first thousand of them.")
    complete: bool = Field(description="The footer was there, and its counts and its digest are those of the file.")
    incomplete: str | None = Field(description="Why it is not complete.")
