"""The policies of each workspace, as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import Connection, RowMapping, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import first_of, insert_missing
from openbrain.adapters.sql.schema.lifecycle_tables import lifecycle_policies as table
from openbrain.adapters.sql.schema.memory_rows import json_text
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.errors import Outdated
from openbrain.ports.lifecycle import NO_EDITION, PolicyDocument, Run, plain
from openbrain.ports.store.writes import ExpectedVersions


class SqlPolicies(TimedPart):
    """`ports.lifecycle.Policies`."""

    async def document(self, workspace_id: str) -> PolicyDocument | None:
        return await self._read(first_of, select(table).where(table.c.workspace_id == workspace_id), _document)

    async def set_document(self, document: PolicyDocument, expected: ExpectedVersions = None) -> PolicyDocument:
        document = replace(document, updated_at=self._clock.now())
        runs = [asdict(run) for run in document.runs]
        row: dict[str, Any] = {
            "workspace_id": document.workspace_id,
            "document": json_text({"given": document.given, "runs": runs, "retention": document.retention}),
            "holds": json_text([plain(hold) for hold in document.holds]),
            "actor": document.actor,
            "updated_at": document.updated_at,
        }

        def write(connection: Connection) -> PolicyDocument:
            none = {**row, "document": "{}", "holds": "[]", "updated_at": int(NO_EDITION)}
            connection.execute(insert_missing(connection, table), none)
            if expected is not None:
                _require_expected(connection, row, expected)
            connection.execute(update(table).where(table.c.workspace_id == document.workspace_id).values(row))
            return document

        return await self._database.write(write)

    async def documents(self, limit: int, after: str = "") -> Sequence[PolicyDocument]:
        query = select(table).where(table.c.workspace_id > after).order_by(table.c.workspace_id).limit(limit)
        return [_document(row) for row in await self._rows(query)]


def _require_expected(connection: Connection, row: Mapping[str, Any], expected: frozenset[str]) -> None:
    """Raise `Outdated` if the document of this workspace is of another edition, and says something else."""
    query = select(table).where(table.c.workspace_id == row["workspace_id"]).with_for_update()
    stands = connection.execute(query).mappings().one()
    # A repeated request finds its own change.
    same = all(stands[name] == row[name] for name in ("document", "holds"))
    if str(stands["updated_at"]) not in expected and not same:
        raise Outdated("the policies have changed since you read them: read them again, then repeat the change")


def _document(row: RowMapping) -> PolicyDocument:
    kept = orjson.loads(row["document"])
    return PolicyDocument(
        workspace_id=row["workspace_id"],
        given=kept.get("given", {}),
        runs=tuple(Run(**run) for run in kept.get("runs", ())),
        holds=tuple(Criteria.of(hold) for hold in orjson.loads(row["holds"])),
        retention=kept.get("retention", {}),
        actor=row["actor"],
        updated_at=row["updated_at"],
    )
