"""Expected entries of each generation of an index, summed up in the database.

`ids.digest` and `ids.bucket` are implemented here again, in SQL; a test compares both.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from zlib import crc32

from sqlalchemy import BindParameter, Connection, bindparam, text

from openbrain.adapters.sql.engine.statements import CRC32, chunks, is_sqlite
from openbrain.domain.ids import BUCKETS, mark
from openbrain.ports.index import Sum
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import ExpectedRow

_WHAT_IS_HASHED = "m.id, {passage}, m.revision, m.updated_at, m.content_hash, :builder"
_NUMBERED = {IndexKind.TEXT: "'|0|'", IndexKind.VECTOR: "'|' || p.passage || '|'"}
# SQLite creates a new text at each ||, so the builder, which ends every line, is put into the separator instead.
_LINE = "m.id || {number} || m.revision || '|' || m.updated_at || '|' || m.content_hash"

# The plus keeps SQLite from using the index on reason, which would scan all live rows for each part of the table.
_LIVING = "(m.deleted_at IS NULL AND m.archived_at IS NULL AND +m.reason IS NULL)"
_WANTED = {IndexKind.TEXT: _LIVING, IndexKind.VECTOR: f"({_LIVING} AND m.wants_vector)"}
_BEHIND = {
    IndexKind.TEXT: "m.text_revision <> m.revision",
    # A memory that never wanted a vector is marked only once it has ended.
    IndexKind.VECTOR: f"(m.vector_revision <> m.revision AND (m.wants_vector OR NOT {_LIVING}))",
}
_FAILED = {kind: f"m.{kind.value}_error_revision = m.revision" for kind in IndexKind}
_PASSAGES = """memory_passages AS p ON p.memory_id = m.id AND p.model = :model AND p.revision = m.revision"""
_COUNT = {
    IndexKind.TEXT: "1",
    IndexKind.VECTOR: """(SELECT COUNT(*) FROM memory_passages AS p
 WHERE p.memory_id = m.id AND p.model = :model AND p.revision = m.revision)""",
}
_HIGH = {IndexKind.TEXT: "1", IndexKind.VECTOR: "m.passages_high"}
_ID_CHARS = 36
_SPAN = "m.id > :after AND m.id <= :until"
_WALK = "SELECT id FROM memories WHERE id > :after ORDER BY id LIMIT 1 OFFSET :passed"
_REST = "SELECT MAX(id) FROM memories WHERE id > :after"


def walk(connection: Connection, after: str, limit: int) -> str | None:
    """Return the last id of the next `limit` rows."""
    last: str | None = connection.scalar(text(_WALK), {"after": after, "passed": limit - 1})
    return last if last is not None else connection.scalar(text(_REST), {"after": after})


def sums(connection: Connection, generation: Generation, after: str, until: str) -> Mapping[int, Sum]:
    """Sum up by bucket. Entries that failed to be indexed are not expected in the generation that serves."""
    where, span = _expected(generation, after, until)
    if is_sqlite(connection):
        return _added_up(_lines(connection, generation, where, span))
    statement = f"""SELECT {_bucket(connection)} AS bucket, COUNT(*), SUM({_crc32(connection, _hashed(generation))})
 {where} GROUP BY bucket"""
    rows = _run(connection, statement, generation, span)
    return {bucket: Sum(count, int(digests), 0) for bucket, count, digests in rows}


def marks(connection: Connection, generation: Generation, after: str, until: str) -> Sequence[int]:
    where, span = _expected(generation, after, until)
    if is_sqlite(connection):
        lines = _lines(connection, generation, where, span)
        return [mark(crc32(line[:_ID_CHARS]) % BUCKETS, crc32(line)) for line in lines]
    statement = f"SELECT {_bucket(connection)}, {_crc32(connection, _hashed(generation))} {where}"
    return [mark(*row) for row in _run(connection, statement, generation, span)]


def _expected(generation: Generation, after: str, until: str) -> tuple[str, Mapping[str, Any]]:
    """Return the FROM and WHERE clauses for the expected entries of these rows, and their values."""
    kind = generation.kind
    vector = kind is IndexKind.VECTOR
    source = f"memories AS m JOIN {_PASSAGES}" if vector else "memories AS m"
    failed = f" AND NOT {_FAILED[kind]}" if serves(generation) else ""
    return f"FROM {source} WHERE {_SPAN} AND {_WANTED[kind]}{failed}", {"after": after, "until": until}


def _hashed(generation: Generation) -> str:
    return _WHAT_IS_HASHED.format(passage="p.passage" if generation.kind is IndexKind.VECTOR else "0")


def _lines(connection: Connection, generation: Generation, where: str, span: Mapping[str, Any]) -> Sequence[bytes]:
    """Return the lines to hash. SQLite has no such hash, and calling a Python function per row is slower than returning
    all lines as one text."""
    line = _LINE.format(number=_NUMBERED[generation.kind])
    end = f"|{generation.builder}"
    statement = f"SELECT group_concat({line}, :separator) {where}"
    lines: str | None = _run(connection, statement, generation, {**span, "separator": f"{end}\n"})[0][0]
    return f"{lines}{end}".encode().split(b"\n") if lines else ()


def _added_up(lines: Sequence[bytes]) -> Mapping[int, Sum]:
    counts, digests = [0] * BUCKETS, [0] * BUCKETS
    for line in lines:
        bucket = crc32(line[:_ID_CHARS]) % BUCKETS
        counts[bucket] += 1
        digests[bucket] += crc32(line)
    return {bucket: Sum(count, digests[bucket], 0) for bucket, count in enumerate(counts) if count}


def in_buckets(
    connection: Connection, generation: Generation, after: str, until: str, buckets: Collection[int]
) -> Sequence[ExpectedRow]:
    """Return rows in these buckets that should have entries, or whose marks are outdated."""
    kind = generation.kind
    where = f"{_SPAN} AND ({_WANTED[kind]} OR {_BEHIND[kind]})"
    span = {"after": after, "until": until}
    if len(buckets) >= BUCKETS:
        return _rows(connection, generation, where, span)
    within = f"{where} AND {_bucket(connection)} IN :buckets"
    return _rows(connection, generation, within, span | {"buckets": sorted(buckets)})


def behind(connection: Connection, generation: Generation, after: str, until: str, limit: int) -> Sequence[ExpectedRow]:
    """Return the first rows with outdated marks that did not fail."""
    kind = generation.kind
    where = f"{_SPAN} AND {_BEHIND[kind]} AND NOT {_FAILED[kind]}"
    return _rows(connection, generation, where, {"after": after, "until": until, "count": limit}, " LIMIT :count")


def by_id(connection: Connection, generation: Generation, ids: Collection[str]) -> dict[str, ExpectedRow]:
    rows: dict[str, ExpectedRow] = {}
    for some in chunks(sorted(ids)):
        for row in _rows(connection, generation, "m.id IN :ids", {"ids": list(some)}):
            rows[row.memory_id] = row
    return rows


def serves(generation: Generation) -> bool:
    """True if the generation serves: marks and failures refer to the serving one only."""
    return generation.status == GenerationStatus.SERVING


def _rows(
    connection: Connection, generation: Generation, where: str, values: Mapping[str, Any], more: str = ""
) -> list[ExpectedRow]:
    kind = generation.kind
    statement = f"""SELECT m.id, m.revision, m.updated_at, m.content_hash, m.created_at,
 COALESCE(m.deleted_at, m.archived_at, CASE WHEN m.reason = 'expired' THEN m.expires_at END, 0),
 {_COUNT[kind]}, {_HIGH[kind]}, {_WANTED[kind]}, {_BEHIND[kind]}, {_FAILED[kind]}
 FROM memories AS m WHERE {where} ORDER BY m.id{more}"""  # noqa: S608 - our own words, values are bound
    rows = _run(connection, statement, generation, values)
    counts = serves(generation)
    return [_due(row, counts=counts) for row in rows]


def _due(row: Sequence[Any], *, counts: bool) -> ExpectedRow:
    memory_id, revision, updated_at, content_hash, created_at, left_at, passages, high, wanted, is_behind, failed = row
    return ExpectedRow(
        memory_id=memory_id,
        revision=revision,
        updated_at=updated_at,
        content_hash=content_hash,
        changed_at=max(created_at, updated_at, left_at),
        passages=passages if wanted else 0,
        high=high,
        living=bool(wanted),
        waiting=bool(wanted) and not passages,
        failed=counts and bool(failed),
        marked=not (counts and is_behind),
    )


def _bucket(connection: Connection) -> str:
    return f"{_crc32(connection, 'm.id')} % {BUCKETS}"


def _crc32(connection: Connection, parts: str) -> str:
    return f"{CRC32}({parts})" if is_sqlite(connection) else f"CRC32(CONCAT_WS('|', {parts}))"


def _run(connection: Connection, statement: str, generation: Generation, values: Mapping[str, Any]) -> Sequence[Any]:
    given = {"builder": generation.builder, "model": generation.model, **values}
    named = {name: value for name, value in given.items() if f":{name}" in statement}
    lists: list[BindParameter[Any]] = [
        bindparam(name, expanding=True) for name, value in named.items() if isinstance(value, list)
    ]
    rows: Sequence[Any] = connection.execute(text(statement).bindparams(*lists), named).all()
    return rows
