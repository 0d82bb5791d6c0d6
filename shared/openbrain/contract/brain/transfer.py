"""Exports and imports."""

from typing import Annotated

from pydantic import Field

from openbrain.contract.base import CURSOR, Answer, QueryString
from openbrain.contract.brain.filters import BrowseQuery, SubjectFilters


class ExportQuery(BrowseQuery, SubjectFilters, extra="forbid"):
    """The memories to export."""

    many = BrowseQuery.many | {"speaker"}
    lenient = frozenset()

    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="The cursor of the last mark that was read: continue from there.")
    ] = None


class ImportQuery(QueryString, extra="forbid"):
    """The options of an import."""

    dry_run: Annotated[bool, Field(description="Only report what would happen to each line.")] = False


class RefusedLine(Answer):
    """A refused line; the others were imported."""

    line: int = Field(description="1 is the header.")
    error: str
    message: str
    field: str | None = None


class Imported(Answer):
    """The result of an import."""

    export_id: str
    exact: bool = Field(
        description="Whether ids, versions, times, chains and history were kept: the workspace was empty and the key "
        "an admin's. If false, each living memory was stored like a new one."
    )
    dry_run: bool = Field(description="Whether nothing was stored: then the counts say what would happen.")
    lines: int = Field(description="Lines read, with header and footer.")
    created: int = Field(description="Memories created.")
    present: int = Field(description="Memories that were already stored, by id or by content.")
    skipped: int = Field(description="Memories that had ended: only an exact import stores them.")
    history: int = Field(description="Audit entries created.")
    lineage: int = Field(description="Links of supersede chains created.")
    vectors: int = Field(default=0, description="Vectors imported with their memories.")
    vectors_left: int = Field(default=0, description="Vectors not imported: their memories are embedded like new ones.")
    vectors_problem: str | None = Field(default=None, description="Why the first of those was not imported.")
    refused: int = Field(description="Lines refused.")
    refusals: tuple[RefusedLine, ...] = Field(description="The first 1,000 refusals.")
    complete: bool = Field(description="Whether the footer was present and its counts and digest match the file.")
    incomplete: str | None = Field(description="Why it is not complete.")
