"""Messages between agents of a workspace, and the inbox, which also holds what subscriptions found."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from openbrain.contract.messages import (
    Conversation,
    ConversationQuery,
    Inbox,
    InboxQuery,
    InboxStreamQuery,
    MessageAnswer,
    MessageSent,
    MessagesRead,
    ReadBody,
    ReadOneBody,
    SendBody,
    TalkQuery,
)
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import NotFound
from openbrain.domain.ids import joined_hash, uuid7
from openbrain.ports.agents import Message
from openbrain.usecases.auth import Actor
from openbrain.usecases.content.inbox import last_number, shown_messages
from openbrain.usecases.remember import admitted
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.frames import MEDIA, frame
from openbrain_api.broadcasts.watching import come_back, following
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route


@Route(
    "POST",
    "/v1/messages/send",
    permission=Permission.BRAIN_WRITE,
    response=MessageSent,
    statuses=(200, 201),
    problems=(409,),
    keyed=True,
    gated=False,
)
async def send_message(call: Call[SendBody, Nothing]) -> Response:
    """Send a message to another agent of the workspace.

    It stays in that agent's inbox until it is read.
    """
    body, actor, now = call.body, _agent(call, call.body.agent_id), call.api.clock.now()
    actor.may_write_to(body.org or "")
    texts = admitted(
        {"subject": body.subject or "", "content": body.content}, call.api.content_policy.of(actor.workspace_id)
    )
    message = Message(
        id=uuid7(now),
        workspace_id=actor.workspace_id,
        sender=actor.agent_id,
        recipient=body.to,
        org=body.org or "",
        subject=texts["subject"],
        content=texts["content"],
        created_at=now,
    )
    given = parsing.idempotency_key(call.headers)
    key = joined_hash(actor.key_id, actor.agent_id, given) if given else ""
    sent = await call.api.store.messages.send_message(message, key, limits.UNREAD_MESSAGES)
    shown = MessageSent.of(sent.message, read=sent.message.read_at is not None, duplicate=sent.duplicate)
    return respond(shown, status=200 if sent.duplicate else 201)


@Route("GET", "/v1/messages/inbox", permission=Permission.BRAIN_READ, response=Inbox)
async def inbox(call: Call[Nothing, InboxQuery]) -> Response:
    """The agent's messages and what its subscriptions found, in order of arrival.

    A client that stores the number of the last item it handled, and continues after it, gets each at least once.
    """
    query, store = call.query, call.api.store.messages
    viewer = _viewer(call, query.agent_id)
    rows = await store.inbox(viewer, query.limit, query.after, unread=query.unread)
    shown = await shown_messages(call.api.store.memories, viewer, rows, call.api.clock.now())
    unread = await store.count_unread(viewer)
    following = rows[-1].seq if rows else None
    last = await last_number(store, viewer)
    return respond_page(Inbox(messages=shown, count=len(shown), unread=unread, last=last, next_after=following))


@Route("GET", "/v1/messages/stream", permission=Permission.BRAIN_READ, media=MEDIA)
async def message_stream(call: Call[Nothing, InboxStreamQuery]) -> Response:
    """Server-sent events: the inbox after a number, then new items."""
    query, api = call.query, call.api
    viewer, listener = _viewer(call, query.agent_id), Listener(call.actor.workspace_id)
    api.hub.admit(listener)
    box = viewer.workspace_id, viewer.agent_id
    # Read before the response begins, so that a database that is down is a 503.
    last = await last_number(api.store.messages, viewer)
    after = parsing.last_event_id(call.headers, query.after)
    # After a restore of the database its numbers can be lower than the client's.
    cursor = last if after is None else min(after, last)

    async def read(behind: int) -> Sequence[MessageAnswer]:
        rows = await api.store.messages.inbox(viewer, limits.LIST_LIMIT, behind)
        return await shown_messages(api.store.memories, viewer, rows, api.clock.now())

    def written(_behind: int, news: Sequence[MessageAnswer]) -> bytes:
        return b"".join(frame("message", item.model_dump_json().encode(), item.seq) for item in news)

    async def events() -> AsyncGenerator[bytes, None]:
        heartbeat_s = api.settings.server.tuning.heartbeat_s
        parts = following(read, cursor, listener, written, seconds=query.seconds, heartbeat_s=heartbeat_s)
        with api.listening.listens(call.actor.key_id, listener), api.inboxes.listens(box, listener):
            yield come_back()
            async with aclosing(parts):
                async for part in parts:
                    yield part

    return Response(200, b"", MEDIA, {"x-accel-buffering": "no"}, events(), listener.end)


@Route("GET", "/v1/messages/conversation", permission=Permission.BRAIN_READ, response=Conversation)
async def conversation(call: Call[Nothing, ConversationQuery]) -> Response:
    """List messages between the agent and another one, newest first."""
    return await _talk(call, call.query.agent)


@Route("GET", "/v1/messages/conversation/{agent}", permission=Permission.BRAIN_READ, response=Conversation)
async def conversation_with(call: Call[Nothing, TalkQuery]) -> Response:
    """List messages with another agent, named in the path."""
    return await _talk(call, parsing.agent_in(call.path))


@Route("POST", "/v1/messages/read", permission=Permission.BRAIN_READ, response=MessagesRead)
async def mark_messages_read(call: Call[ReadBody, Nothing]) -> Response:
    """Mark messages of the inbox as read."""
    return await _marked(call, call.body.ids, call.body.up_to or 0)


@Route("POST", "/v1/messages/{id}/read", permission=Permission.BRAIN_READ, response=MessagesRead, problems=(404,))
async def mark_message_read(call: Call[ReadOneBody, Nothing]) -> Response:
    """Mark one message as read."""
    viewer = _viewer(call, call.body.agent_id)
    row = await call.api.store.messages.message(viewer, parsing.id_in(call.path, "message"))
    if row is None or row.recipient != viewer.agent_id:
        raise NotFound("no message with this id")
    return await _marked(call, (row.id,), 0)


async def _talk(call: Call[Nothing, Any], other: str) -> Response:
    query = call.query
    rows = await call.api.store.messages.conversation(
        _viewer(call, query.agent_id), other, query.limit + 1, parsing.position(query.cursor)
    )
    rows, following = parsing.page_of(rows, query.limit)
    shown = tuple(MessageAnswer.shown(row) for row in rows)
    return respond_page(Conversation(messages=shown, count=len(shown), next_cursor=following))


async def _marked(call: Call[Any, Nothing], ids: tuple[str, ...], up_to: int) -> Response:
    viewer, store = _viewer(call, call.body.agent_id), call.api.store.messages
    read = await store.mark_read(viewer, ids, up_to)
    return respond(MessagesRead(read=read, unread=await store.count_unread(viewer)))


def _viewer(call: Call[Any, Any], named: str | None) -> Viewer:
    return _agent(call, named).viewer()


def _agent(call: Call[Any, Any], named: str | None) -> Actor:
    return call.agent(named, "messages are")
