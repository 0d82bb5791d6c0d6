"""Routes of streams, their groups and their dead letters: for operators."""

from typing import Any

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import dead, streams
from openbrain_api.http.route import Route
from openbrain_api.requests import streams as stream_requests

_QUEUED: dict[str, Any] = {"statuses": (200, 202), "waits": True, "permission": Permission.ADMIN}

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/admin/streams",
        handler=streams.streams,
        summary="How each stream and each of its groups stands",
        permission=Permission.ADMIN,
        query=stream_requests.StreamsQuery,
        response=contract.StreamList,
    ),
    Route(
        method="POST",
        path="/v1/admin/streams:replay",
        handler=streams.replay,
        summary="Give a stream's services again what it keeps, behind what is live",
        body=stream_requests.ReplayBody,
        response=contract.Replayed,
        **_QUEUED,
    ),
    Route(
        method="POST",
        path="/v1/admin/streams:bury",
        handler=streams.bury,
        summary="Take one stuck entry out of a group's hands, to its dead letters",
        body=stream_requests.BuryBody,
        response=contract.Buried,
        permission=Permission.ADMIN,
        statuses=(202,),
        waits=True,
    ),
    Route(
        method="POST",
        path="/v1/admin/groups:pause",
        handler=streams.pause,
        summary="Let a service rest, with all its replicas",
        permission=Permission.ADMIN,
        body=stream_requests.PauseBody,
        response=contract.GroupPaused,
    ),
    Route(
        method="POST",
        path="/v1/admin/groups:resume",
        handler=streams.resume,
        summary="Let a service work again",
        permission=Permission.ADMIN,
        body=stream_requests.ResumeBody,
        response=contract.GroupPaused,
    ),
    Route(
        method="POST",
        path="/v1/admin/groups",
        handler=streams.register,
        summary="Register a reader from outside: its stream keeps what it has not read",
        permission=Permission.ADMIN,
        body=stream_requests.OutsideBody,
        response=contract.GroupRegistered,
    ),
    Route(
        method="DELETE",
        path="/v1/admin/groups",
        handler=streams.unregister,
        summary="Wait for a reader from outside no more",
        permission=Permission.ADMIN,
        query=stream_requests.OutsideQuery,
        response=contract.GroupRegistered,
        problems=(404,),
    ),
    Route(
        method="GET",
        path="/v1/admin/dead",
        handler=dead.dead_letters,
        summary="Dead letters, without what they hold",
        permission=Permission.ADMIN,
        query=stream_requests.DeadQuery,
        response=contract.DeadLetterList,
    ),
    Route(
        method="GET",
        path="/v1/admin/dead/{id}",
        handler=dead.dead_letter,
        summary="One dead letter; with body=1 the entry itself",
        permission=Permission.ADMIN,
        query=stream_requests.LetterQuery,
        response=contract.DeadLetterAnswer,
        problems=(404,),
    ),
    Route(
        method="POST",
        path="/v1/admin/dead:replay",
        handler=dead.replay_dead,
        summary="Give dead letters again to the groups that they died in",
        body=stream_requests.DeadReplayBody,
        response=contract.DeadLettersChanged,
        **_QUEUED,
    ),
    Route(
        method="POST",
        path="/v1/admin/dead:discard",
        handler=dead.discard_dead,
        summary="Throw dead letters away for good",
        body=stream_requests.DeadDiscardBody,
        response=contract.DeadLettersChanged,
        **_QUEUED,
    ),
)
