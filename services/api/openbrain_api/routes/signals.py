"""Routes of the amygdala: signals, halts, and who listens."""

from typing import Any

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.broadcasts.frames import MEDIA
from openbrain_api.handlers import halts, listening, signals
from openbrain_api.http.route import Route
from openbrain_api.requests import signals as requests

_AMYGDALA = "/v1/amygdala"
_READS: dict[str, Any] = {"method": "GET", "permission": Permission.BRAIN_READ}
_RAISES: dict[str, Any] = {
    "method": "POST",
    "permission": Permission.SIGNAL_RAISE,
    "response": contract.SignalRaised,
    "statuses": (200, 201),
    "problems": (404, 409),
    "keyed": True,
}
_SAYS: dict[str, Any] = {"method": "POST", "problems": (404, 409)}

ROUTES: tuple[Route, ...] = (
    Route(
        path=f"{_AMYGDALA}/signals",
        handler=signals.raise_signal,
        summary="Raise a signal: every agent of the workspace hears it",
        body=requests.SignalBody,
        **_RAISES,
    ),
    Route(
        path=f"{_AMYGDALA}/signals",
        handler=signals.signals,
        summary="List signals, newest first",
        query=requests.SignalsQuery,
        response=contract.SignalList,
        **_READS,
    ),
    Route(
        path=f"{_AMYGDALA}/signals/{{id}}",
        handler=signals.signal,
        summary="One signal, who has seen it, and what happened to it",
        response=contract.SignalDetail,
        problems=(404,),
        **_READS,
    ),
    Route(
        path=f"{_AMYGDALA}/signals/{{id}}/ack",
        handler=signals.acknowledge_signal,
        summary="Say that a signal was seen",
        permission=Permission.SIGNAL_ACK,
        body=requests.AckBody,
        response=contract.SignalAnswer,
        **_SAYS,
    ),
    Route(
        path=f"{_AMYGDALA}/signals/{{id}}/resolve",
        handler=signals.resolve_signal,
        summary="Say that it burns no more",
        permission=Permission.SIGNAL_ACK,
        body=requests.NoteBody,
        response=contract.SignalAnswer,
        **_SAYS,
    ),
    Route(
        path=f"{_AMYGDALA}/halts",
        handler=signals.raise_halt,
        summary="Halt the fleet: a nuclear signal, and everyone in its scope stops",
        body=requests.HaltBody,
        **_RAISES,
    ),
    Route(
        path=f"{_AMYGDALA}/halts",
        handler=halts.halts,
        summary="List halts, newest first",
        query=requests.HaltsQuery,
        response=contract.HaltList,
        **_READS,
    ),
    Route(
        path=f"{_AMYGDALA}/halts/{{id}}",
        handler=halts.halt,
        summary="One halt: who has stopped, and who that listens has not",
        query=requests.HaltQuery,
        response=contract.HaltStatus,
        problems=(404,),
        **_READS,
    ),
    Route(
        path=f"{_AMYGDALA}/halts/{{id}}/ack",
        handler=halts.acknowledge_halt,
        summary="Say that one has stopped",
        permission=Permission.SIGNAL_ACK,
        body=requests.NoteBody,
        response=contract.HaltAnswer,
        **_SAYS,
    ),
    Route(
        path=f"{_AMYGDALA}/halts/{{id}}/resume",
        handler=halts.resume_halt,
        summary="End a halt: everyone goes on",
        permission=Permission.ADMIN,
        body=requests.NoteBody,
        response=contract.HaltAnswer,
        **_SAYS,
    ),
    Route(
        path=f"{_AMYGDALA}/state",
        handler=listening.state,
        summary="What burns now, and whether the fleet is halted",
        query=requests.StateQuery,
        response=contract.AmygdalaState,
        **_READS,
    ),
    Route(
        path=f"{_AMYGDALA}/stream",
        handler=listening.stream,
        summary="Server-sent events: the state, what was missed, then what comes",
        query=requests.StreamQuery,
        media=MEDIA,
        **_READS,
    ),
    Route(
        path=f"{_AMYGDALA}/broadcasts",
        handler=listening.broadcasts,
        summary="What was broadcast behind a number; with wait=N once there is something",
        query=requests.BroadcastsQuery,
        response=contract.BroadcastList,
        **_READS,
    ),
    Route(
        path=f"{_AMYGDALA}/subscribers",
        handler=listening.subscribers,
        summary="Who listens, by agent",
        query=requests.SubscribersQuery,
        response=contract.SubscriberList,
        **_READS,
    ),
)
