"""Export and import."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from openbrain.contract.brain.transfer import ExportQuery, Imported, ImportQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import everything, visible
from openbrain.domain.ids import uuid7
from openbrain.usecases import stored_criteria
from openbrain.usecases.transfer.writing import header_line
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.http import parsing
from openbrain_api.http.compression import accepts_gzip, gzipped
from openbrain_api.http.response import NDJSON, Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.transfer.exporting import FIRST_PAGE, Export
from openbrain_api.memories.transfer.importing import Import, opened
from openbrain_api.memories.transfer.landing import lander


@Route("GET", "/v1/brain/export", permission=Permission.BRAIN_READ, cost=50, media=NDJSON)
async def export(call: Call[Nothing, ExportQuery]) -> Response:
    """Export the memories that the key may see as NDJSON; with an admin key the whole workspace.

    With an admin key and filters on `agent_id`, `speaker` or `matching` only, also messages, questions and signals.
    """
    query, now = call.query, call.api.clock.now()
    call.actor.may_ask_for(query.org or "")
    whole = Permission.ADMIN in call.actor.permissions
    criteria = query.criteria()
    viewer = call.actor.viewer(query.session_id or "")
    condition = everything(viewer.workspace_id, criteria) if whole else visible(viewer, criteria, now)
    party = stored_criteria.party(criteria) if whole else None
    beside = party and partial(call.api.store.cleansing.page_beside, viewer.workspace_id, party)
    file = Export(
        call.api.store.transfer,
        condition,
        lambda rows: call.api.chains.behind(rows, viewer),
        whole=whole,
        beside=beside,
    )
    # Read before the response begins, so that a database that is down is a 503, not a broken file.
    first = await file.page(FIRST_PAGE, parsing.position(query.cursor))
    header = header_line(
        export_id=uuid7(now),
        exported_at=now,
        workspace_id=viewer.workspace_id,
        whole=whole,
        filters=query.model_dump(mode="json", exclude_defaults=True, exclude={"cursor"}),
        cursor=query.cursor,
    )
    headers = {"content-disposition": 'attachment; filename="openbrain-export.ndjson"', "vary": "accept-encoding"}
    parts = file.parts(header, first)
    if not accepts_gzip(call.headers):
        return Response(200, b"", NDJSON, headers, _while_the_key_opens(call, parts))
    packed = _while_the_key_opens(call, gzipped(parts))
    return Response(200, b"", NDJSON, {**headers, "content-encoding": "gzip"}, packed)


async def _while_the_key_opens(
    call: Call[Nothing, ExportQuery], parts: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Yield the parts. Raise `Unauthorised` soon after the key was revoked or expired."""
    keys, listener = call.api.listening, Listener()
    with keys.listens(call.actor.key_id, listener):
        async with aclosing(parts):
            async for part in parts:
                keys.require(listener)
                yield part


@Route(
    "POST",
    "/v1/brain/import",
    permission=Permission.BRAIN_WRITE,
    response=Imported,
    problems=(400, 409, 415),
    cost=50,
    stores=True,
    streamed=True,
)
async def import_file(call: Call[Nothing, ImportQuery]) -> Response:
    """Import an exported file; with an admin key and an empty workspace, verbatim.

    Sending the file again continues an interrupted import.
    """
    if call.stream is None:
        raise AssertionError("a streamed route has a stream")
    header, following, digest = await opened(call.stream)
    landing = await lander(call.api, call.actor, call.origin()._replace(bulk=True), header, dry_run=call.query.dry_run)
    reading = Import(header, landing)
    await reading.read(following, digest)
    return respond(reading.report())
