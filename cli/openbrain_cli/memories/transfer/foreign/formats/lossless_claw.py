"""lossless-claw's database: all messages of OpenClaw's conversations, and their summaries."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from openbrain_cli.memories.transfer.foreign import databases, fields
from openbrain_cli.memories.transfer.foreign.formats.format import Format, Reader
from openbrain_cli.memories.transfer.foreign.rows import Row, Rows
from openbrain_cli.memories.transfer.foreign.tables import DATABASES

NAME = "lossless-claw"
_MESSAGES = (
    "SELECT m.*, c.session_id AS session FROM messages m JOIN conversations c "
    "ON c.conversation_id = m.conversation_id ORDER BY m.conversation_id, m.seq"
)
_SUMMARIES = (
    "SELECT s.*, c.session_id AS session FROM summaries s JOIN conversations c "
    "ON c.conversation_id = s.conversation_id ORDER BY s.conversation_id, s.summary_id"
)


def rows_of(path: Path) -> Reader | None:
    """Read lossless-claw's database file."""
    if path.suffix.lower() not in DATABASES:
        return None
    fits = {"conversations", "messages", "summaries", "context_items"} <= databases.sqlite_tables(path)
    return partial(_rows, path) if fits else None


def _rows(path: Path) -> Rows:
    talks = databases.sqlite_rows(path, "SELECT * FROM conversations")
    conversations = {row["conversation_id"]: row for row in talks}
    for query, kind in ((_MESSAGES, "message"), (_SUMMARIES, "summary")):
        for row in databases.sqlite_rows(path, query):
            talk = conversations[row["conversation_id"]]
            number = row["seq"] if kind == "message" else row["summary_id"]
            own = f"{row['session']}/{row['conversation_id']}/{kind}/{number}"
            yield {**row, "id": own, "is_a": kind, "key": talk.get("session_key"), "agent": _agent(talk)}


def _agent(talk: Row) -> str:
    """The agent named by the conversation, or by the session's key `agent:NAME:…`."""
    named = fields.text(talk.get("agent_id"))
    parts = fields.text(talk.get("session_key")).split(":")
    return (named if named != "unknown" else "") or (parts[1] if parts[0] == "agent" and len(parts) > 1 else "")


def line(row: Row, agent: str) -> Mapping[str, Any]:
    """The row as a thought: a message with its turn, a summary with its type in the metadata."""
    own = fields.memory_id(NAME, row["id"])
    whose = agent or row["agent"] or "main"
    metadata: dict[str, Any] = {
        "sessionId": row["key"] or row["session"],
        "type": row["is_a"],
        "advancementKey": f"import:{own}",
    }
    if row["is_a"] == "message":
        metadata |= {"turn": row["seq"], "role": row["role"]}
    else:
        metadata |= {"depth": row.get("depth"), "kind": row.get("kind")}
    return fields.thought(
        memory_id=own,
        content=fields.text(row.get("content")),
        source=f"openclaw:{whose}",
        metadata=metadata,
        agent=whose,
        created=fields.moment(row.get("created_at")),
    )


FORMAT = Format(name=NAME, rows_of=rows_of, line=line)
