"""Dead letters, for operators. The content of an entry is shown only on request and never logged."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from openbrain.contract.admin.dead_letters import (
    DeadDiscardBody,
    DeadLetterAnswer,
    DeadLetterList,
    DeadLettersChanged,
    DeadQuery,
    DeadReplayBody,
    LetterQuery,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.times import from_datetime
from openbrain.ports.streams import DEAD_DISCARD, DEAD_REPLAY, DeadFilter, DeadLetter
from openbrain_api.handlers.admin.operations import accepted, operators_only, planned, start_operation
from openbrain_api.handlers.admin.streams import known, moment
from openbrain_api.http.parsing import found
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route

SAMPLE = 20


@Route("GET", "/v1/admin/dead", permission=Permission.ADMIN, response=DeadLetterList)
async def dead_letters(call: Call[Nothing, DeadQuery]) -> Response:
    """List dead letters, without their contents."""
    operators_only(call, "streams need")
    query = call.query
    letters, after = await call.api.streams.dead(_filter(call, query), query.limit, query.cursor or "")
    shown = tuple(_shown_letter(letter) for letter in letters)
    return respond_page(DeadLetterList(dead_letters=shown, count=len(shown), next_cursor=after))


@Route("GET", "/v1/admin/dead/{id}", permission=Permission.ADMIN, response=DeadLetterAnswer, problems=(404,))
async def dead_letter(call: Call[Nothing, LetterQuery]) -> Response:
    """One dead letter; with body=1 also the content of its entry."""
    operators_only(call, "streams need")
    letter = found(await call.api.streams.dead_letter(call.path["id"]), "dead letter")
    return respond(_shown_letter(letter, **({"fields": dict(letter.fields)} if call.query.body else {})))


@Route(
    "POST",
    "/v1/admin/dead:replay",
    permission=Permission.ADMIN,
    response=DeadLettersChanged,
    statuses=(200, 202),
    waits=True,
)
async def replay_dead(call: Call[DeadReplayBody, Nothing]) -> Response:
    """Deliver dead letters again to the groups that failed on them."""
    return await _work(call, DEAD_REPLAY)


@Route(
    "POST",
    "/v1/admin/dead:discard",
    permission=Permission.ADMIN,
    response=DeadLettersChanged,
    statuses=(200, 202),
    waits=True,
)
async def discard_dead(call: Call[DeadDiscardBody, Nothing]) -> Response:
    """Delete dead letters for good."""
    return await _work(call, DEAD_DISCARD, reason=call.body.reason or "")


async def _work(call: Call[Any, Nothing], kind: str, **more: str) -> Response:
    operators_only(call, "streams need")
    body: DeadReplayBody = call.body
    wanted = _filter(call, body)
    if body.letters:
        named = [await call.api.streams.dead_letter(letter) for letter in dict.fromkeys(body.letters)]
        letters = [letter.id for letter in named if letter is not None]
        count, sample = len(letters), letters[:SAMPLE]
    else:
        letters, count = [], await call.api.streams.count_dead(wanted)
        sample = [letter.id for letter in (await call.api.streams.dead(wanted, SAMPLE))[0]]
    plan = {"dry_run": body.dry_run, "count": count, "sample": sample}
    if body.dry_run or not count:
        return planned(plan)
    parameters = {"letters": letters, **asdict(wanted), "rate": body.rate, **more}
    return await accepted(call, plan, await start_operation(call, kind, parameters, count))


def _filter(call: Call[Any, Any], request: DeadQuery | DeadReplayBody) -> DeadFilter:
    if request.stream:
        known(call, request.stream)
    return DeadFilter(
        stream=request.stream or "",
        group=request.group or "",
        error=request.error or "",
        since=_milliseconds(request.since),
        until=_milliseconds(request.until),
    )


def _milliseconds(at: datetime | None) -> int | None:
    return None if at is None else from_datetime(at) // 1000


def _shown_letter(letter: DeadLetter, **fields: object) -> DeadLetterAnswer:
    """The answer about a letter, without the entry's content unless given in `fields`."""
    members = DeadLetterAnswer.model_fields.keys() - {"fields", "first_at", "died_at"}
    return DeadLetterAnswer(
        **{name: getattr(letter, name) for name in members},
        first_at=moment(letter.first_at) if letter.first_at else None,
        died_at=moment(letter.last_at),
        **fields,
    )
