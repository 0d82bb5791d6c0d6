"""Routes of webhooks."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import webhooks
from openbrain_api.http.route import Route
from openbrain_api.requests import webhooks as requests

_PATH = "/v1/amygdala/webhooks"

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path=_PATH,
        handler=webhooks.create_webhook,
        summary="Make a webhook; its secret is in this answer only",
        permission=Permission.ADMIN,
        body=requests.WebhookBody,
        response=contract.WebhookCreated,
        statuses=(201,),
        problems=(404, 409),
    ),
    Route(
        method="GET",
        path=_PATH,
        handler=webhooks.webhooks,
        summary="The workspace's webhooks, oldest first",
        permission=Permission.ADMIN,
        query=requests.WebhooksQuery,
        response=contract.WebhookList,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/{{id}}",
        handler=webhooks.webhook,
        summary="One webhook: how far it has come",
        permission=Permission.ADMIN,
        response=contract.WebhookAnswer,
        problems=(404,),
    ),
    Route(
        method="PATCH",
        path=f"{_PATH}/{{id}}",
        handler=webhooks.change_webhook,
        summary="Post to a webhook no more, or again",
        permission=Permission.ADMIN,
        body=requests.WebhookChangeBody,
        response=contract.WebhookAnswer,
        problems=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{_PATH}/{{id}}",
        handler=webhooks.remove_webhook,
        summary="Remove a webhook, with its dead letters",
        permission=Permission.ADMIN,
        query=requests.WebhookRemoveQuery,
        response=contract.WebhookRemoved,
        problems=(404,),
    ),
    Route(
        method="GET",
        path=f"{_PATH}/{{id}}/dead",
        handler=webhooks.webhook_letters,
        summary="What a webhook could not be given",
        permission=Permission.ADMIN,
        query=requests.WebhookLettersQuery,
        response=contract.WebhookLetters,
        problems=(404,),
    ),
    Route(
        method="POST",
        path=f"{_PATH}/{{id}}/dead:replay",
        handler=webhooks.replay_webhook_letters,
        summary="Post again what a webhook could not be given",
        permission=Permission.ADMIN,
        body=requests.WebhookReplayBody,
        response=contract.WebhookReplayed,
        problems=(404,),
    ),
)
