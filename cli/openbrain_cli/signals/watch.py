"""`openbrain watch`: shows new memories about something as they are stored."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Kinds, Org, Project, Speaking, Tags, given
from openbrain_cli.output import as_json_line, moment, one_line, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.brain.subscriptions import SubscriptionAnswer
    from openbrain.contract.messages import MessageAnswer

CONTENT_CHARS = 300
AGAIN_S = 1.0
T = TypeVar("T")

Query = Annotated[
    list[str] | None, typer.Argument(metavar="[QUERY...]", help="Topic; if left out, the filters decide.")
]
Near = Annotated[float | None, typer.Option("--min-similarity", min=0, max=1, help="Minimum similarity.")]
Seconds = Annotated[int | None, typer.Option("--seconds", min=0, help="Seconds until it ends; else until Ctrl-C.")]


@command(
    'openbrain watch "payments timeouts"',
    "openbrain watch --project shop --type decision",
    'openbrain watch "release" --min-similarity 0.6 --json',
)
def watch(
    to: Speaking,
    query: Query = None,
    *,
    org: Org = None,
    project: Project = None,
    type: Kinds = None,
    tag: Tags = None,
    min_similarity: Near = None,
    seconds: Seconds = None,
    json: AsJson = False,
) -> None:
    """Show new memories that match, until Ctrl-C.

    Creates a subscription and removes it at the end. If the agent already has an equal one, that is used, and stays.
    """
    filters = given(org=org, project=project, type=type, tags=tag)
    text = " ".join(query or ())

    async def watching(brain: "OpenBrain") -> None:
        await show_matches(brain, text, filters, min_similarity, seconds, json=json)

    with ended_like_ctrl_c():
        to.ask(watching)


async def show_matches(
    brain: "OpenBrain", text: str, filters: dict[str, Any], least: float | None, seconds: int | None, *, json: bool
) -> None:
    """Show what matches, and remove the subscription at the end, also if that comes while it is being made."""
    last = (await brain.inbox(limit=1)).last
    if (same := await _same(brain, text, filters, least)) is not None:
        await _follow(brain, same.id, last, seconds, json=json)
        return
    made = asyncio.create_task(_subscribe(brain, text, filters, least))
    try:
        await _follow(brain, (await asyncio.shield(made)).id, last, seconds, json=json)
    finally:
        with suppress(Exception):  # a failure must not hide the exit; the API lists what is left
            await asyncio.shield(_remove(brain, made))


async def _subscribe(
    brain: "OpenBrain", text: str, filters: dict[str, Any], least: float | None
) -> "SubscriptionAnswer":
    only = filters if filters or not text else None
    return await brain.subscribe_query(text or None, filter=only, min_similarity=least, include_own=True)


async def _remove(brain: "OpenBrain", made: "asyncio.Task[SubscriptionAnswer]") -> None:
    await brain.remove_subscription((await made).id)


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """A closed terminal and `kill` end it like Ctrl-C, so that the subscription is removed. What is ignored (`nohup`)
    stays ignored."""
    main = threading.current_thread() is threading.main_thread()  # only there handlers can be set
    default = (number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL)
    ending = [*default] if main else []
    for number in ending:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(_: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # a shell's background jobs ignore Ctrl-C
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


async def _same(
    brain: "OpenBrain", text: str, filters: dict[str, Any], least: float | None
) -> "SubscriptionAnswer | None":
    from openbrain.client.wire import pages

    async for page in pages(lambda cursor: brain.subscriptions(limit=100, cursor=cursor)):
        for subscription in page.subscriptions:
            criteria = {name: value for name, value in subscription.filter.model_dump(mode="json").items() if value}
            same = criteria == filters and (least is None or subscription.min_similarity == least)
            if (subscription.query or "") == text and same and subscription.include_own:
                return subscription
    return None


async def _follow(brain: "OpenBrain", subscription_id: str, cursor: int, seconds: int | None, *, json: bool) -> None:
    say(f"watching by subscription {subscription_id}; Ctrl-C ends it")

    def connect() -> "AsyncIterator[MessageAnswer | None]":
        return brain.hear_messages(cursor, seconds=seconds)

    async for message in reconnecting(connect, once=seconds is not None):
        if message is None:
            continue
        cursor = message.seq
        if message.match is not None and message.match.subscription_id == subscription_id:
            as_json_line(message) if json else _print(message)


async def reconnecting(connect: Callable[[], AsyncIterator[T]], *, once: bool) -> AsyncIterator[T]:
    """Yield the items of a connection. Unless `once`, connect again after its end or an error; `connect` continues
    after the last item, so that none is missed."""
    from openbrain.domain.errors import TryLater

    while True:
        try:
            async for item in connect():
                yield item
        except TryLater as error:
            if once:
                raise
            say(str(error))
        if once:
            return
        await asyncio.sleep(AGAIN_S)


def _print(message: "MessageAnswer") -> None:
    match = message.match
    if match is None:
        return
    near = "      " if match.similarity is None else f"{match.similarity:.2f}  "
    content = "withdrawn" if match.withdrawn else one_line(message.content)[:CONTENT_CHARS]
    print(f"{moment(message.created_at)}  {near}{one_line(message.sender) or '-'}: {content}  {match.memory_id}")
