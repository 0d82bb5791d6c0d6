"""Routes that end things for good."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import ending
from openbrain_api.http.route import Route
from openbrain_api.requests import ending as ending_requests
from openbrain_api.requests import memories as requests

ROUTES: tuple[Route, ...] = (
    Route(
        method="DELETE",
        path="/v1/brain/memories/{id}",
        handler=ending.end_memory,
        summary="End one memory, or erase it: then nothing of it is left",
        permission=Permission.BRAIN_WRITE,
        stores=True,
        body=requests.ForgetBody,
        query=ending_requests.EndQuery,
        response=contract.Ended,
        problems=(404, 409),
        waits=True,
        matched=True,
    ),
    Route(
        method="POST",
        path="/v1/brain/forget",
        handler=ending.forget_matching,
        summary="End all memories that a filter matches",
        permission=Permission.BRAIN_WRITE,
        body=ending_requests.BulkBody,
        response=contract.BulkEnded,
        statuses=(200, 202),
        waits=True,
        cost=10,
    ),
    Route(
        method="DELETE",
        path="/v1/admin/workspaces/{id}",
        handler=ending.delete_workspace,
        summary="Delete a workspace with everything in it",
        permission=Permission.ADMIN,
        query=ending_requests.DeleteWorkspaceQuery,
        response=contract.WorkspaceDeleted,
        statuses=(200, 202),
        problems=(404, 409),
        waits=True,
    ),
)
