"""Converts a table of another store to an export file, and reports each row that can't become a memory."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

import orjson

from openbrain.domain import limits
from openbrain.domain.errors import Invalid
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import MemoryType
from openbrain.domain.text.control_characters import escaped
from openbrain.domain.text.thought_parts import MOST_PARTS, PART, PARTS, WHOLE, part_id, split
from openbrain.domain.times import from_datetime
from openbrain.usecases.transfer.lines import MemoryLine, parse_line
from openbrain.usecases.transfer.writing import as_line, footer_line, header_line
from openbrain_cli.importers.records.mapping import when
from openbrain_cli.memories.transfer.foreign import fields
from openbrain_cli.memories.transfer.foreign.chains import Chains, chains
from openbrain_cli.memories.transfer.foreign.formats.format import Format
from openbrain_cli.memories.transfer.foreign.locations import FORMATS
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Table

REFUSALS = 1000
_NOTHING: tuple[Any, ...] = ("", [], {})
_NAME_CHARS = 200
"""At most so many characters before a secret say what it is."""
_LAST = "9998"
"""Times from this year on may be out of range for the header; their rows are refused."""
_NAMESPACE = uuid.UUID("c2c8c1b5-5d0a-5b36-9a1d-5a5f2f6f0b7e")


@dataclass(slots=True)
class Converted:
    """Counts of rows read, converted and refused."""

    rows: int = 0
    memories: int = 0
    links: int = 0
    refused: int = 0
    refusals: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, number: int, reason: str) -> None:
        self.refused += 1
        if len(self.refusals) < REFUSALS:
            self.refusals.append({"row": number, "message": reason})


@dataclass(frozen=True, slots=True)
class _Survey:
    """Workspaces, links and times of a table, collected in a first pass."""

    workspaces: frozenset[str]
    chains: Chains
    digest: str
    created: Mapping[str, str]
    latest: str


def convert(
    table: Table,
    target: Path,
    *,
    agent: str,
    source_workspace: str = "",
    vectors_of: str = "",
    progress: Callable[[int], None],
) -> Converted:
    """Write the rows of one workspace of the table to a file, in the format of `openbrain export`. Their vectors are
    included if `vectors_of` names the model that made them.

    Raise `Invalid` if the table has several workspaces and none was named, if an agent is needed, or if the format has
    no vectors.
    """
    form = FORMATS[table.name]
    if vectors_of and not form.vector_column:
        raise Invalid("--vectors-of", f"can't be given: {form.name} has no vectors")
    if form.needs_agent and not agent:
        raise Invalid("--agent", "is needed: thoughts belong to an agent, and these rows do not say to which")
    survey = _survey(table, form, source_workspace)
    if len(survey.workspaces) > 1 and not source_workspace:
        names = ", ".join(sorted(survey.workspaces)[:10])
        raise Invalid("--source-workspace", f"is needed: the table has {len(survey.workspaces)} workspaces: {names}")
    if source_workspace and survey.workspaces and source_workspace not in survey.workspaces:
        raise Invalid("--source-workspace", "has no row in the table")
    done = Converted()
    with target.open("wb") as file:
        digest = _Digesting(file)
        at = when(survey.latest)
        export_id = str(uuid.uuid5(_NAMESPACE, f"{table.name}\0{survey.digest}"))
        digest.write(
            header_line(
                export_id=export_id,
                exported_at=from_datetime(at) if at else 0,
                workspace_id=source_workspace or next(iter(survey.workspaces), ""),
                whole=True,
                filters={},
            )
        )
        line = partial(_line, form, agent, vectors_of)
        _write(table, form, line, survey, digest, done, workspace=source_workspace, progress=progress)
        file.write(footer_line(memories=done.memories, history=0, lineage=done.links, digest=digest.hexdigest()))
    return done


class _Digesting:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()

    def write(self, line: bytes) -> None:
        self._digest.update(line)
        self._file.write(line)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _survey(table: Table, form: Format, workspace: str) -> _Survey:
    workspaces: set[str] = set()
    links: dict[str, str] = {}
    created: dict[str, str] = {}
    digest = hashlib.sha256()
    for row in table.rows():
        if isinstance(row, BrokenRow):
            continue
        whose = form.workspace(row)
        workspaces.update({whose} - {""})
        if workspace and whose != workspace:
            continue
        own = fields.memory_id(form.name, row.get("id"))
        created[own] = fields.moment(row.get("created_at") or row.get("createdAt")) or ""
        digest.update(own.encode())
        if parent := fields.text(row.get("supersedes_id")):
            links[own] = fields.memory_id(form.name, parent)
    latest = max((at for at in created.values() if at < _LAST), default="")
    return _Survey(frozenset(workspaces), chains(links, created), digest.hexdigest(), created, latest)


def _write(
    table: Table,
    form: Format,
    line_of: Callable[[Row], Mapping[str, Any]],
    survey: _Survey,
    out: _Digesting,
    done: Converted,
    *,
    workspace: str,
    progress: Callable[[int], None],
) -> None:
    known: set[str] = set()
    for number, row in enumerate(table.rows(), 1):
        done.rows += 1
        progress(1)
        if isinstance(row, BrokenRow):
            done.refuse(number, row.reason)
            continue
        if workspace and form.workspace(row) != workspace:
            done.refuse(number, "is of another workspace than --source-workspace")
            continue
        if not fields.text(row.get("id")).strip():
            done.refuse(number, "has no id")
            continue
        written = _chained(line_of(row), survey.chains)
        own = str(written["id"])
        if own in known:
            done.refuse(number, "has the id of an earlier row")
            continue
        try:
            lines = [_checked(part) for part in _in_parts(written)]
        except Invalid as error:
            done.refuse(number, str(error))
            continue
        known.add(own)
        for line in lines:
            out.write(line)
        done.memories += len(lines)
        _note_link(number, own, survey.chains, done)
    for child, parent in survey.chains.parents.items():
        if child in known and parent in known:
            at = survey.created[child]
            named = {"child_id": child, "parent_id": parent, "relation": "superseded"}
            out.write(as_line({"kind": "lineage", **named, "created_at": at}))
            done.links += 1


def _line(form: Format, agent: str, model: str, row: Row) -> Mapping[str, Any]:
    line = form.line(row, agent)
    numbers = fields.vector(row.get(form.vector_column)) if model else None
    return {**line, "vector": numbers, "vector_model": model} if numbers else line


def _in_parts(line: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a memory's line, or one line per part of a long thought. A text that is still too long is refused later."""
    content = str(line["content"])
    texts = [content]
    if line["type"] is MemoryType.CONTEXT and len(content) > limits.CONTENT_CHARS:
        with suppress(Invalid):
            texts = split(content, list(_secrets(content)))
    if not 1 < len(texts) <= MOST_PARTS:
        yield line
        return
    # The vector belongs to the entire text, so the parts go without it.
    line = {name: value for name, value in line.items() if name not in {"vector", "vector_model"}}
    identity = fields.identity_of(line["metadata"])
    for number, text in enumerate(texts, 1):
        yield {
            **line,
            "id": part_id(str(line["id"]), number),
            "content": text,
            "metadata": {**line["metadata"], PART: number, PARTS: len(texts), WHOLE: str(line["id"])},
            "identity": joined_hash(identity, str(number)) if identity else "",
        }


def _secrets(content: str) -> Iterator[tuple[int, int]]:
    """The ranges of secrets with the names before them. The server masks each part alone: it must find them there."""
    from openbrain.runtime.adapters import secret_detector

    (found,) = secret_detector().find([("content", content)])
    for secret in found:
        named = len(content[: secret.start].rstrip())
        yield max(content.rfind("\n", 0, named) + 1, secret.start - _NAME_CHARS), secret.end


def _checked(written: Mapping[str, Any]) -> bytes:
    """Format a memory as a line. Raise `Invalid` if an import would refuse it."""
    kept = {name: value for name, value in written.items() if value is not None and value not in _NOTHING}
    try:
        raw = as_line({"kind": "memory", **kept})
    except orjson.JSONEncodeError:
        raise Invalid("", "has a text that is not valid Unicode, or a number of more than 64 bits") from None
    line = parse_line(raw)
    if isinstance(line, MemoryLine):
        line.check()
    return raw


def _chained(line: Mapping[str, Any], links: Chains) -> dict[str, Any]:
    chained = {**line, "content": escaped(line["content"]), "supersedes_id": links.parents.get(str(line["id"]))}
    if (at := links.replaced.get(str(line["id"]))) is not None:
        chained |= {"reason": "superseded", "deleted_at": line.get("deleted_at") or at}
    return chained


def _note_link(number: int, own: str, links: Chains, done: Converted) -> None:
    reason = ""
    if own in links.circular:
        reason = "it is in a cycle of rows that supersede each other: imported without its link"
    elif own in links.missing:
        reason = "it supersedes a row that is not in the table: imported without the link"
    if reason and len(done.notes) < REFUSALS:
        done.notes.append(f"row {number}: {reason}")
