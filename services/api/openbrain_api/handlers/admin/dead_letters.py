"""Dead letters, for operators. What an entry holds is shown where it is asked for, and logged nowhere."""

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
from openbrain.domain.errors import NotFound
from openbrain.domain.permissions import Permission
from openbrain.domain.times import from_datetime
from openbrain.ports.streams import DEAD_DISCARD, DEAD_REPLAY, DeadFilter, DeadLetter
from openbrain_api.handlers.admin.streams import known, moment, operators_only, start_operation
from openbrain_api.http.response import Response, answer
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.rendering import Json

SAMPLE = 20


@Route("GET", "/v1/admin/dead", permission=Permission.ADMIN, response=DeadLetterList)
async def dead_letters(call: Call[Nothing, DeadQuery]) -> Response:
    """Dead letters, without what they hold."""
    operators_only(call)
    query = call.query
    found, after = await call.api.streams.dead(_wanted(call, query), query.limit, query.cursor or "")
    data = {"dead_letters": [_letter_json(each) for each in found], "count": len(found)}
    return answer({**data, "next_cursor": after}, data)


@Route("GET", "/v1/admin/dead/{id}", permission=Permission.ADMIN, response=DeadLetterAnswer, problems=(404,))
async def dead_letter(call: Call[Nothing, LetterQuery]) -> Response:
    """One dead letter; with body=1 the entry itself."""
    operators_only(call)
    found = await call.api.streams.dead_letter(call.path["id"])
    if found is None:
        raise NotFound("no dead letter with this id")
    told = _letter_json(found)
    if call.query.body:
        told["fields"] = dict(found.fields)
    return answer(told, told)


@Route(
    "POST",
    "/v1/admin/dead:replay",
    permission=Permission.ADMIN,
    response=DeadLettersChanged,
    statuses=(200, 202),
    waits=True,
)
async def replay_dead(call: Call[DeadReplayBody, Nothing]) -> Response:
    """Give dead letters again to the groups that they died in."""
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
    """Throw dead letters away for good."""
    return await _work(call, DEAD_DISCARD, reason=call.body.reason or "")


async def _work(call: Call[Any, Nothing], kind: str, **more: str) -> Response:
    operators_only(call)
    body: DeadReplayBody = call.body
    wanted = _wanted(call, body)
    if body.letters:
        named = [await call.api.streams.dead_letter(letter) for letter in dict.fromkeys(body.letters)]
        letters = [each.id for each in named if each is not None]
        count, sample = len(letters), letters[:SAMPLE]
    else:
        letters, count = [], await call.api.streams.count_dead(wanted)
        sample = [each.id for each in (await call.api.streams.dead(wanted, SAMPLE))[0]]
    told = {"dry_run": body.dry_run, "count": count, "sample": sample}
    if body.dry_run or not count:
        return answer({**told, "operation": None}, told)
    request = {
        "letters": letters,
        "stream": wanted.stream,
        "group": wanted.group,
        "error": wanted.error,
        "since": wanted.since,
        "until": wanted.until,
        "rate": body.rate,
        **more,
    }
    return await start_operation(call, told, kind, request, count)


def _wanted(call: Call[Any, Any], asked: DeadQuery | DeadReplayBody) -> DeadFilter:
    if asked.stream:
        known(call, asked.stream)
    return DeadFilter(
        stream=asked.stream or "",
        group=asked.group or "",
        error=asked.error or "",
        since=_milliseconds(asked.since),
        until=_milliseconds(asked.until),
    )


def _milliseconds(at: datetime | None) -> int | None:
    return None if at is None else from_datetime(at) // 1000


def _letter_json(letter: DeadLetter) -> Json:
    return {
        "id": letter.id,
        "stream": letter.stream,
        "group": letter.group,
        "entry": letter.entry,
        "error": letter.error,
        "message": letter.message,
        "attempts": letter.attempts,
        "abandonments": letter.abandonments,
        "first_at": moment(letter.first_at) if letter.first_at else None,
        "died_at": moment(letter.last_at),
        "bytes": letter.bytes,
    }
