"""What agents have among themselves, and what one reads when it wakes up."""

from collections.abc import Sequence
from urllib.parse import quote

from openbrain.client.wire import Wire, write_headers
from openbrain.contract.brain.context import AgentContext
from openbrain.contract.messages import Conversation, Inbox, MessageSent, MessagesRead
from openbrain.domain.ids import uuid7

MESSAGES = "/v1/messages"


class Agents:
    """Methods of the client. The agent is the key's; `agent_id` names another one, where the key may speak for it."""

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
        """What that agent should know when it begins to work; `text` is to be put before its model as it is."""
        query = {
            "org": org or self.org or None,
            "project": project,
            "session_id": session_id,
            "budget_tokens": budget_tokens,
            "max_memories": max_memories,
            "cursor": cursor,
        }
        return await self._wire.ask(
            AgentContext, "GET", f"/v1/brain/agent/{quote(agent_id, safe='')}/context", query=query
        )

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
        """Leave a message in an agent's inbox. What is asked again by itself is stored once."""
        body = {"to": to, "content": content, "subject": subject, "org": org, "agent_id": agent_id}
        given = {name: value for name, value in body.items() if value}
        headers = write_headers(idempotency_key or uuid7(0))
        return await self._wire.ask(MessageSent, "POST", f"{MESSAGES}/send", body=given, headers=headers)

    async def inbox(
        self, *, after: int = 0, unread: bool = False, limit: int | None = None, agent_id: str | None = None
    ) -> Inbox:
        """Messages behind that number, in order. `next_after` is where to go on, also for what is yet to come."""
        query = {"after": after, "unread": unread or None, "limit": limit, "agent_id": agent_id}
        return await self._wire.ask(Inbox, "GET", f"{MESSAGES}/inbox", query=query)

    async def conversation(
        self, agent: str, *, limit: int | None = None, cursor: str | None = None, agent_id: str | None = None
    ) -> Conversation:
        """What was written to and by another agent, newest first."""
        query = {"agent": agent, "limit": limit, "cursor": cursor, "agent_id": agent_id}
        return await self._wire.ask(Conversation, "GET", f"{MESSAGES}/conversation", query=query)

    async def mark_read(
        self, ids: Sequence[str] = (), *, up_to: int | None = None, agent_id: str | None = None
    ) -> MessagesRead:
        """Mark messages of the inbox as read: these, and all up to that number."""
        body = {"ids": list(ids), "up_to": up_to, "agent_id": agent_id}
        given = {name: value for name, value in body.items() if value}
        return await self._wire.ask(MessagesRead, "POST", f"{MESSAGES}/read", body=given)
