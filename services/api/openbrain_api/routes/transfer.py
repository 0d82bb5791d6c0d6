"""Routes of whole workspaces."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import transfer
from openbrain_api.http.reply import NDJSON
from openbrain_api.http.route import Route
from openbrain_api.requests import transfer as transfer_requests

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/brain/export",
        cost=50,
        handler=transfer.export,
        summary="What the key may see as NDJSON; with an admin's key the whole workspace",
        permission=Permission.BRAIN_READ,
        query=transfer_requests.ExportQuery,
        media=NDJSON,
    ),
    Route(
        method="POST",
        path="/v1/brain/import",
        cost=50,
        handler=transfer.import_file,
        summary="Take in an export; with an admin's key, into an empty workspace, as it was",
        permission=Permission.BRAIN_WRITE,
        stores=True,
        query=transfer_requests.ImportQuery,
        response=contract.Imported,
        problems=(400, 409, 415),
        streamed=True,
    ),
)
