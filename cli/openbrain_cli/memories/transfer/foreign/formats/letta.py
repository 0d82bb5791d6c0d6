"""Letta's agent file: the memory blocks that agents keep, and their messages."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.found_memory import line as one_line
from openbrain_cli.memories.transfer.foreign import fields
from openbrain_cli.memories.transfer.foreign.formats.format import Format, Reader
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Rows
from openbrain_cli.memories.transfer.foreign.tables import json_object

NAME = "letta"
_ROLES = {"user", "assistant"}


def rows_of(path: Path) -> Reader | None:
    """Read an `.af` file, or the same content as `.json`."""
    if path.suffix.lower() not in {".af", ".json"}:
        return None
    whole = json_object(path)
    fits = all(isinstance(whole.get(name), list) for name in ("agents", "blocks"))
    return partial(_rows, whole) if fits else None


def _rows(whole: Mapping[str, Any]) -> Rows:
    created = whole.get("created_at")
    holders = {
        str(block): agent
        for agent in whole["agents"]
        if isinstance(agent, dict)
        for block in _listed(agent.get("block_ids"))
    }
    for block in whole["blocks"]:
        yield _block(block, holders, created)
    for agent in whole["agents"]:
        yield from _messages(agent)


def _block(block: Any, holders: Mapping[str, Any], created: Any) -> Row | BrokenRow:
    if not isinstance(block, dict) or not isinstance(block.get("value"), str):
        return BrokenRow("is no block with a text")
    agent = _agent(holders.get(str(block.get("id")), {}))
    digest = hashlib.sha256(block["value"].encode("utf-8", "replace")).hexdigest()[:16]
    own = f"{agent}/{block.get('label')}/{digest}"
    return {**block, "id": own, "agent": agent, "created_at": block.get("created_at") or created}


def _messages(agent: Any) -> Iterator[Row | BrokenRow]:
    if not isinstance(agent, dict):
        yield BrokenRow("is no agent")
        return
    name = _agent(agent)
    for number, message in enumerate(_listed(agent.get("messages"))):
        if not isinstance(message, dict) or str(message.get("role")) not in _ROLES:
            yield BrokenRow("is no message of user or assistant")
            continue
        own = f"{name}/{message.get('id')}/{message.get('created_at')}"
        yield {**message, "id": own, "agent": name, "number": number}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _agent(agent: Mapping[str, Any]) -> str:
    return one_line(str(agent.get("name") or ""))[: limits.AGENT_CHARS]


def line(row: Row, agent: str) -> Mapping[str, Any]:
    """The row as a line: a block becomes a fact of the agent, a message a thought of its conversation."""
    own, created = fields.memory_id(NAME, row["id"]), fields.moment(row.get("created_at"))
    whose = agent or fields.text(row.get("agent"))
    if "value" not in row:
        session = f"letta:{fields.text(row.get('agent'))}"[: limits.SESSION_CHARS]
        metadata = {"sessionId": session, "turn": row["number"], "role": row["role"], "type": "message"}
        metadata |= {"advancementKey": own}
        return fields.thought(
            memory_id=own, content=_text(row), source=NAME, metadata=metadata, agent=whose, created=created
        )
    label = one_line(fields.text(row.get("label")))
    described = {name: row[name] for name in ("label", "description") if isinstance(row.get(name), str)}
    return fields.fact(
        memory_id=own,
        content=fields.text(row["value"]),
        kind=MemoryType.FACT,
        source=NAME,
        created=created,
        memory_scope=Scope.AGENT if whose else Scope.SHARED,
        agent_id=whose or None,
        tags=fields.as_tags([label[: limits.TAG_CHARS]] if label else []),
        metadata=described,
    )


def _text(row: Row) -> str:
    content = row.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


FORMAT = Format(name=NAME, rows_of=rows_of, line=line)
