"""Client methods for messages, sessions, subscriptions and the context of agents."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import NotRequired, TypedDict, Unpack

from pydantic import ValidationError

from openbrain.client.server_sent_events import MEDIA, Sent, events
from openbrain.client.wire import Wire, filled, given, in_path, write_headers
from openbrain.contract.brain.context import AgentContext
from openbrain.contract.brain.sessions import (
    SessionDetail,
    SessionEnded,
    SessionList,
    SessionStarted,
    TurnsAppended,
)
from openbrain.contract.brain.subscriptions import (
    Channel,
    SubscriptionAnswer,
    SubscriptionCreated,
    SubscriptionList,
    SubscriptionRemoved,
)
from openbrain.contract.messages import Conversation, Inbox, MessageAnswer, MessageSent, MessagesRead
from openbrain.domain.errors import SetupError
from openbrain.domain.ids import uuid7
from openbrain.ports.agents import Policy

MESSAGES = "/v1/messages"

SESSIONS = "/v1/brain/sessions"
SUBSCRIPTIONS = "/v1/brain/subscriptions"


class NewSession(TypedDict):
    """Where the agent works, and the policy for the session's memories."""

    session_id: NotRequired[str]
    """Chosen by the agent; generated if left out."""
    org: NotRequired[str]
    project: NotRequired[str]
    policy: NotRequired[Policy | str]
    days: NotRequired[int]
    agents: NotRequired[Sequence[str]]
    """Agents that may join."""
    agent_id: NotRequired[str]


class HandOver(TypedDict):
    """Notes for the next agent."""

    summary: NotRequired[str]
    next_steps: NotRequired[Sequence[str]]
    blockers: NotRequired[Sequence[str]]
    expires_in: NotRequired[int]
    """Hours until the hand-over expires."""
    agent_id: NotRequired[str]


class Agents:
    """Client methods for agents. The agent is the key's; `agent_id` names another one, if the key may act as it."""

    _wire: Wire
    org: str

    async def context(
        self,
        agent_id: str,
        *,
        org: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        budget_tokens: int | None = None,
        max_memories: int | None = None,
        cursor: str | None = None,
    ) -> AgentContext:
        """Return the context of an agent that begins to work. Pass its `text` to the model unchanged."""
        query = {
            "org": org or self.org or None,
            "project": project,
            "session_id": session_id,
            "budget_tokens": budget_tokens,
            "max_memories": max_memories,
            "cursor": cursor,
        }
        return await self._wire.ask(AgentContext, "GET", f"/v1/brain/agent/{in_path(agent_id)}/context", query=query)

    async def start_session(self, **session: Unpack[NewSession]) -> SessionStarted:
        """Start, join or continue a session. `hand_over` is what the project's previous session left."""
        body = dict(session)
        if self.org and not body.get("org"):
            body["org"] = self.org
        return await self._wire.ask(SessionStarted, "POST", SESSIONS, body={"session_id": uuid7(0), **body})

    async def sessions(
        self,
        *,
        project: str | None = None,
        open_only: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
        agent_id: str | None = None,
    ) -> SessionList:
        """Return a page of the agent's sessions, newest first."""
        query = {"project": project, "open": open_only or None, "limit": limit, "cursor": cursor, "agent_id": agent_id}
        return await self._wire.ask(SessionList, "GET", SESSIONS, query=query)

    async def session(self, session_id: str, *, agent_id: str | None = None) -> SessionDetail:
        """Return a session that the agent is a member of."""
        return await self._wire.ask(SessionDetail, "GET", _session(session_id), query={"agent_id": agent_id})

    async def append_turns(
        self, session_id: str, turns: Sequence[Mapping[str, object]], *, agent_id: str | None = None
    ) -> TurnsAppended:
        """Store turns: each with `turn` and `content`, optionally `speaker`, `type` and `occurred_at`. May be repeated:
        a stored turn is not stored again."""
        body = {"turns": list(turns), **filled(agent_id=agent_id)}
        return await self._wire.ask(TurnsAppended, "POST", f"{_session(session_id)}/append", body=body)

    async def end_session(self, session_id: str, **hand_over: Unpack[HandOver]) -> SessionEnded:
        """End a session. With a summary, next steps or blockers it leaves a hand-over to the next session."""
        return await self._wire.ask(SessionEnded, "POST", f"{_session(session_id)}/end", body=dict(hand_over))

    async def send_message(
        self,
        to: str,
        content: str,
        *,
        subject: str = "",
        org: str | None = None,
        agent_id: str | None = None,
        idempotency_key: str = "",
    ) -> MessageSent:
        """Send a message to an agent's inbox. Retries of the client store it only once."""
        body = filled(to=to, content=content, subject=subject, org=org, agent_id=agent_id)
        headers = write_headers(idempotency_key or uuid7(0))
        return await self._wire.ask(MessageSent, "POST", f"{MESSAGES}/send", body=body, headers=headers)

    async def inbox(
        self, *, after: int = 0, unread: bool = False, limit: int | None = None, agent_id: str | None = None
    ) -> Inbox:
        """Return messages after the number `after`, in order. Pass `next_after` as `after` for the next page, now or
        later."""
        query = {"after": after, "unread": unread or None, "limit": limit, "agent_id": agent_id}
        return await self._wire.ask(Inbox, "GET", f"{MESSAGES}/inbox", query=query)

    async def hear_messages(
        self, after: int | None = None, *, seconds: int | None = None, agent_id: str | None = None
    ) -> AsyncGenerator[MessageAnswer | None, None]:
        """Stream the inbox: messages after the number `after`, then new ones; without `after` only new ones. None is a
        heartbeat. Ends when the server stops; raises `TryLater` if the connection breaks off: call again with the last
        `seq`."""
        query = {"after": after, "seconds": seconds, "agent_id": agent_id}
        async with (
            aclosing(self._wire.stream(f"{MESSAGES}/stream", query=query, accept=MEDIA)) as parts,
            aclosing(events(parts)) as sent,
        ):
            async for item in sent:
                yield _message(item)

    async def conversation(
        self, agent: str, *, limit: int | None = None, cursor: str | None = None, agent_id: str | None = None
    ) -> Conversation:
        """Return messages to and from another agent, newest first."""
        query = {"agent": agent, "limit": limit, "cursor": cursor, "agent_id": agent_id}
        return await self._wire.ask(Conversation, "GET", f"{MESSAGES}/conversation", query=query)

    async def mark_read(
        self, ids: Sequence[str] = (), *, up_to: int | None = None, agent_id: str | None = None
    ) -> MessagesRead:
        """Mark messages of the inbox as read: those in `ids`, and all up to the number `up_to`."""
        body = filled(ids=list(ids), up_to=up_to, agent_id=agent_id)
        return await self._wire.ask(MessagesRead, "POST", f"{MESSAGES}/read", body=body)

    async def subscribe_query(
        self,
        query: str | None = None,
        *,
        filter: Mapping[str, object] | None = None,
        min_similarity: float | None = None,
        include_own: bool | None = None,
        webhook: str | None = None,
        agent_id: str | None = None,
    ) -> SubscriptionCreated:
        """Subscribe to new memories: matches are delivered to the agent's inbox, and posted to the URL `webhook` if
        given."""
        body = given(
            query=query,
            filter=None if filter is None else dict(filter),
            min_similarity=min_similarity,
            include_own=include_own,
            channel=webhook and Channel.WEBHOOK,
            url=webhook,
            agent_id=agent_id,
        )
        return await self._wire.ask(SubscriptionCreated, "POST", SUBSCRIPTIONS, body=body, repeat=False)

    async def subscriptions(
        self, *, limit: int | None = None, cursor: str | None = None, agent_id: str | None = None
    ) -> SubscriptionList:
        """Return a page of the agent's subscriptions, oldest first."""
        query = {"limit": limit, "cursor": cursor, "agent_id": agent_id}
        return await self._wire.ask(SubscriptionList, "GET", SUBSCRIPTIONS, query=query)

    async def subscription(self, subscription_id: str, *, agent_id: str | None = None) -> SubscriptionAnswer:
        """Return one subscription."""
        path, query = f"{SUBSCRIPTIONS}/{in_path(subscription_id)}", {"agent_id": agent_id}
        return await self._wire.ask(SubscriptionAnswer, "GET", path, query=query)

    async def replay_subscription(
        self, subscription_id: str, since: datetime, until: datetime | None = None, *, agent_id: str | None = None
    ) -> SubscriptionAnswer:
        """Match the memories of a time range again, and deliver the matches even if they were delivered before."""
        body = filled(since=since.isoformat(), until=until and until.isoformat(), agent_id=agent_id)
        path = f"{SUBSCRIPTIONS}/{in_path(subscription_id)}:replay"
        return await self._wire.ask(SubscriptionAnswer, "POST", path, body=body, well=(202,))

    async def remove_subscription(self, subscription_id: str, *, agent_id: str | None = None) -> SubscriptionRemoved:
        """Remove a subscription and its matches in the inbox."""
        path, query = f"{SUBSCRIPTIONS}/{in_path(subscription_id)}", {"agent_id": agent_id}
        gone = SubscriptionRemoved(id=subscription_id, removed=True)
        return await self._wire.ask(SubscriptionRemoved, "DELETE", path, query=query, gone=gone)


def _message(sent: Sent) -> MessageAnswer | None:
    if sent.name != "message":
        return None
    try:
        return MessageAnswer.model_validate_json(sent.data)
    except ValidationError:
        raise SetupError("the stream's events are not OpenBrain's: check the URL and the server's version") from None


def _session(session_id: str) -> str:
    return f"{SESSIONS}/{in_path(session_id)}"
