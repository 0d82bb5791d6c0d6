"""Listeners and readers of an inbox while the database under it is restored."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from openbrain.client.subscriber import Inbox, MemoryCursor
from openbrain.contract.messages import Inbox as Page
from openbrain.contract.messages import MessageAnswer
from openbrain.domain.tasks import cancel
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.inboxes import Box, Inboxes
from tests.support.waiting import until

BOX = ("w1", "ada")
KEPT = "one two three".split()


class Numbers:
    """The last numbers that each look finds, one after the other."""

    def __init__(self, *found: Mapping[Box, int]) -> None:
        self._found = list(found)
        self.looked = asyncio.Event()

    async def last_numbers(self, _boxes: object) -> Mapping[Box, int]:
        if len(self._found) == 1:
            self.looked.set()
            return self._found[0]
        return self._found.pop(0)


@pytest.mark.parametrize(("later", "ended"), [({BOX: 6}, False), ({BOX: 5}, False), ({BOX: 3}, True), ({}, True)])
async def test_listeners_start_again_if_the_numbers_fall(later: Mapping[Box, int], *, ended: bool) -> None:
    numbers: Any = Numbers({BOX: 5}, later, later)
    inboxes, listener = Inboxes(numbers, look_s=0), Listener()
    with inboxes.listens(BOX, listener):
        await numbers.looked.wait()
        await inboxes.close()

    assert listener.ended is ended


class Messages:
    """The inbox of an API: its streams end when the messages are replaced."""

    def __init__(self, *contents: str) -> None:
        self.minute = 0
        self.sent: list[MessageAnswer] = []
        self.replaced = asyncio.Event()
        self.put(contents)

    def put(self, contents: Sequence[str], *, through: int = 0, read: bool = False) -> None:
        """Keep the messages up to a number, and add others, each a minute later than any before."""
        self.sent = [message.model_copy(update={"read": read}) for message in self.sent[:through]]
        for content in contents:
            self.minute += 1
            at, seq = datetime(2026, 1, 1, 0, self.minute, tzinfo=UTC), len(self.sent) + 1
            named: dict[str, Any] = {"sender": "bob", "recipient": "ada", "subject": "", "org": None, "read": False}
            self.sent.append(MessageAnswer(id=f"{at}", content=content, seq=seq, created_at=at, **named))
        self.replaced.set()
        self.replaced = asyncio.Event()

    async def inbox(self, after: int, *, unread: bool = False, limit: int | None = None) -> Page:
        wanted = [each for each in self.sent if each.seq > after and not (unread and each.read)][: limit or 2]
        following = wanted[-1].seq if wanted else None
        return Page(messages=tuple(wanted), count=len(wanted), unread=0, last=len(self.sent), next_after=following)

    async def messages(self, after: int) -> AsyncGenerator[MessageAnswer | None, None]:
        replaced = self.replaced
        for message in self.sent[after:]:
            yield message
        await replaced.wait()


async def handled(messages: Messages, cursor: MemoryCursor, *, then: Sequence[str] = ()) -> list[str]:
    """Return what a reader handles: what is there, and after a restore that keeps one message what was sent `then`."""
    said: list[str] = []

    async def handle(message: MessageAnswer) -> None:
        said.append(message.content)

    async def up_to_date() -> bool:
        return inbox.seq == len(messages.sent)

    inbox = Inbox(messages, handle, cursor)
    await inbox.begin()
    following = asyncio.create_task(inbox.follow(1))
    await until(up_to_date)
    if then:
        messages.put(then, through=1)
        del said[:]

        async def heard() -> bool:
            return said[-1:] == list(then[-1:])

        await until(heard)
    await cancel(following)
    assert cursor.seq == len(messages.sent)
    return said


@pytest.mark.parametrize("then", [["new"], ["new", "newer"], ["new", "newer", "newest"]])
async def test_what_comes_between_a_restore_and_a_reconnect_is_handled(then: Sequence[str]) -> None:
    """Also if the new numbers have reached or passed the last one handled by then."""
    assert await handled(Messages(*KEPT), MemoryCursor(0), then=then) == then


@pytest.mark.parametrize(("read", "again"), [(True, ["new"]), (False, ["one", "new"])])
async def test_a_start_after_a_restore_begins_with_what_is_unread(read: bool, again: Sequence[str]) -> None:
    messages = Messages(*KEPT)
    messages.put(["new"], through=1, read=read)

    assert await handled(messages, MemoryCursor(3)) == again
