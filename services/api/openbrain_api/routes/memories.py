"""Routes of memories."""

from openbrain import answers
from openbrain.auth import Permission
from openbrain_api import requests
from openbrain_api.handlers import finding, writing
from openbrain_api.route import Route

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/v1/brain/remember",
        handler=writing.remember,
        summary="Store one memory",
        permission=Permission.BRAIN_WRITE,
        body=requests.RememberBody,
        response=answers.Remembered,
        statuses=(200, 201),
        problems=(409,),
        waits=True,
        keyed=True,
    ),
    Route(
        method="POST",
        path="/v1/brain/remember:batch",
        handler=writing.remember_batch,
        summary="Store up to 500 memories, each on its own",
        permission=Permission.BRAIN_WRITE,
        body=requests.BatchBody,
        response=answers.RememberedBatch,
        waits=True,
        keyed=True,
    ),
    Route(
        method="POST",
        path="/v1/brain/recall",
        handler=finding.recall,
        summary="Find what bears on a question",
        permission=Permission.BRAIN_READ,
        body=requests.RecallBody,
        response=answers.Recalled,
    ),
    Route(
        method="GET",
        path="/v1/brain/list",
        handler=finding.listing,
        summary="The newest memories",
        permission=Permission.BRAIN_READ,
        query=requests.ListQuery,
        response=answers.Listed,
    ),
    Route(
        method="GET",
        path="/v1/brain/memories/{id}",
        handler=finding.memory,
        summary="One memory, with its history where asked",
        permission=Permission.BRAIN_READ,
        query=requests.MemoryQuery,
        response=answers.MemoryDetail,
        problems=(404,),
    ),
    Route(
        method="PATCH",
        path="/v1/brain/memories/{id}",
        handler=writing.update,
        summary="Change one memory",
        permission=Permission.BRAIN_WRITE,
        body=requests.PatchBody,
        query=requests.SessionQuery,
        response=answers.MemoryAnswer,
        problems=(404, 409),
        waits=True,
    ),
    Route(
        method="DELETE",
        path="/v1/brain/forget/{id}",
        handler=writing.forget,
        summary="End one memory; its history stays",
        permission=Permission.BRAIN_WRITE,
        body=requests.ForgetBody,
        query=requests.ForgetQuery,
        response=answers.Forgotten,
        problems=(404, 409),
        waits=True,
    ),
)
