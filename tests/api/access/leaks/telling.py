"""All answers that a watcher gets, in a form in which two sets of answers can be compared."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from mcp import Client

from tests.api.access.leaks.hidden import Watcher
from tests.api.access.leaks.readings import readings
from tests.api.access.leaks.readings import tools as tool_readings
from tests.mcp.support import text

REVIEW = "/v1/brain/review"
Answers = dict[str, str]
"""The answers that a watcher got, by request."""


async def told(watcher: Watcher, client: httpx.AsyncClient, called: Client) -> Answers:
    """Read everything that can be read."""
    answers: Answers = {}
    # Review first: it lists memories that no recall has found, and the recalls below find them all.
    for (method, path), asked in sorted(readings(watcher).items(), key=lambda each: each[0][1] != REVIEW):
        for number, (params, json) in enumerate(asked):
            for agent in ("ada", "bob") if "{agent}" in path else ("",):
                answer = await client.request(method, path.replace("{agent}", agent), params=params, json=json)
                assert answer.status_code < 500, f"{method} {path} {params} {json}: {answer.text}"
                tag = answer.headers.get("etag", "")
                answers[f"{method} {path} {agent}{number}"] = f"{answer.status_code} {tag}\n{_plain(path, answer.text)}"
    for name, every in tool_readings(watcher).items():
        for number, arguments in enumerate(every):
            answers[f"{name} {number}"] = _plain(name, text(await called.call_tool(name, dict(arguments))))
    return answers


DRAWN = (
    (r'"recall_id":"[^"]+"|recall_id for brain_feedback: \S+|^retry: \d+$', ""),
    (r'"export_id":"[^"]+"|"took_ms":[0-9.]+|"digest":"sha256:\w+"', ""),
    (r"^(<<\w+) \w{12} (\d+>>)$", r"\1 \2"),
)
"""Values that differ between any two answers, because they are random or measured."""
WORD_STATISTICS = r'^score: [0-9.]+$|"score":[0-9.]+|"[0-9a-f-]{36}":[0-9.]+'
NUMBERS = (r'"(seq|through|last)":\d+', r"^id: \d+\nevent: skipped\ndata: .*\n\n")
TOLD: Mapping[str, Sequence[str]] = {
    "/v1/brain/search": (WORD_STATISTICS,),
    "brain_search": (WORD_STATISTICS,),
    "/v1/brain/recall": (r'"text":\{"rank":\d+,"score":[0-9.]+',),
    "/v1/amygdala/state": NUMBERS,
    "/v1/amygdala/stream": NUMBERS,
    "/v1/amygdala/broadcasts": NUMBERS,
    "/v1/messages/inbox": (r'"last":\d+',),
}
"""Differences that the reference pages permit: a score by words depends on how often the words occur in the whole
index, and a key limited to orgs sees gaps in the numbers of broadcasts and of an agent's messages."""


def _plain(path: str, answer: str) -> str:
    for pattern, instead in (*DRAWN, *((each, "") for each in TOLD.get(path, ()))):
        answer = re.sub(pattern, instead, answer, flags=re.MULTILINE)
    return answer


def differing(before: Answers, after: Answers) -> Mapping[str, Any]:
    return {asked: (before[asked], after[asked]) for asked in before if before[asked] != after[asked]}
