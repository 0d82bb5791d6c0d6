"""Files of other memory systems in their formats, with unreadable parts among them."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import zstandard

from openbrain.domain import limits


def written(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


EDGE = {
    "uuid": "0b7c2c7e-3e0f-4a55-9f42-0a8a5d3d1c01",
    "group_id": "shop",
    "name": "WORKS_AT",
    "fact": "Ada works at the harbour office.",
    "source_node_uuid": "a",
    "target_node_uuid": "b",
    "episodes": ["e1"],
    "created_at": "2026-02-01T09:00:00Z",
    "valid_at": "2025-06-01T00:00:00Z",
    "invalid_at": None,
    "fact_embedding": [0.1] * 4,
}
EPISODE = {
    "uuid": "0b7c2c7e-3e0f-4a55-9f42-0a8a5d3d1c02",
    "content": "ada: I have moved to the museum.",
    "source": "message",
    "source_description": "chat",
    "created_at": "2026-02-02T09:00:00Z",
    "valid_at": "2026-02-02T08:59:00Z",
}


LETTA = {
    "agents": [
        {
            "id": "agent-0",
            "name": "harbour",
            "block_ids": ["block-0"],
            "messages": [
                {"id": "message-0", "role": "system", "content": "You are …", "created_at": "2026-01-01T00:00:00Z"},
                {
                    "id": "message-1",
                    "role": "user",
                    "content": [{"type": "text", "text": "When does the ferry leave?"}],
                    "created_at": "2026-01-01T00:01:00Z",
                },
            ],
        }
    ],
    "groups": [],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "Name: Ada. Likes ferries.", "description": "of the person"},
        {"id": "block-1", "label": "persona"},
    ],
    "created_at": "2026-01-02T00:00:00Z",
}


OBSERVATION = {
    "id": 7,
    "memory_session_id": "s-1",
    "project": "shop",
    "text": None,
    "type": "bugfix",
    "title": "Cache key lacked the tenant",
    "subtitle": "",
    "facts": '["The key holds the tenant now"]',
    "narrative": "Two tenants saw each other's prices.",
    "concepts": '["cache", "tenancy"]',
    "files_read": '["src/cache.py"]',
    "files_modified": "[]",
    "created_at": "2026-03-01T10:00:00.000Z",
    "created_at_epoch": 1772359200000,
}
SUMMARY = {
    "id": 1,
    "memory_session_id": "s-1",
    "project": "shop",
    "request": "Fix the prices",
    "learned": "The cache is shared",
    "created_at": "2026-03-01T11:00:00.000Z",
    "created_at_epoch": 1772362800000,
}
PROMPT = {"id": 3, "content_session_id": "c-1", "prompt_number": 1, "prompt_text": "Why are prices wrong?"}
PROMPT |= {"created_at": "2026-03-01T09:59:00.000Z", "created_at_epoch": 1772359140000}


def claude_mem_database(path: Path) -> Path:
    connection = sqlite3.connect(path)
    tables = {"observations": OBSERVATION, "session_summaries": SUMMARY, "user_prompts": PROMPT}
    for table, row in tables.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(row)})")
        marks = ",".join("?" * len(row))
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(row.values()))
    connection.execute("CREATE TABLE sdk_sessions (id)")
    connection.commit()
    connection.close()
    return path


LONG = "word " * (limits.CONTENT_CHARS // 4)
EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "session", "version": 3, "id": "5f0c", "timestamp": "2026-04-01T10:00:00.000Z"},
    {"type": "message", "id": "e1", "parentId": None, "timestamp": "2026-04-01T10:00:01.000Z"}
    | {"message": {"role": "user", "content": "Deploy, please."}},
    {"type": "message", "id": "e2", "parentId": "e1", "timestamp": "2026-04-01T10:00:02.000Z"}
    | {
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "On it."},
                {"type": "toolCall", "name": "shell", "arguments": {"cmd": "make"}},
            ],
        }
    },
    {"type": "message", "id": "e3", "parentId": "e2", "timestamp": "2026-04-01T10:00:03.000Z"}
    | {"message": {"role": "toolResult", "toolName": "shell", "content": [{"type": "text", "text": LONG}]}},
)


def openclaw_lines(home: Path) -> Path:
    folder = home / ".openclaw" / "agents" / "iris" / "sessions"
    written(folder / "sessions.json", {"agent:iris:main": {"sessionId": "5f0c"}})
    path = folder / "5f0c.jsonl"
    path.write_text("\n".join([*map(json.dumps, EVENTS[:2]), "{cut", *map(json.dumps, EVENTS[2:])]), encoding="utf-8")
    return path


def openclaw_database(home: Path) -> Path:
    path = home / ".openclaw" / "agents" / "iris" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE session_windows (session_id, session_key)")
    connection.execute("CREATE TABLE transcript_events (session_id, seq, event_json, created_at, event_zstd)")
    connection.execute("INSERT INTO session_windows VALUES ('5f0c', 'agent:iris:main')")
    *events, last = [json.dumps(event) for event in EVENTS]
    packed = zstandard.ZstdCompressor().compress(last.encode())
    rows: list[tuple[object, ...]] = [("5f0c", seq, event, 1, None) for seq, event in enumerate(events)]
    rows += [("5f0c", len(events), None, 1, packed), ("5f0c", 9, None, 1, b"(\xb5")]
    connection.executemany("INSERT INTO transcript_events VALUES (?,?,?,?,?)", rows)
    connection.commit()
    connection.close()
    return path


def lossless_claw_database(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE conversations (conversation_id, session_id, agent_id, session_key, created_at);"
        "CREATE TABLE messages (message_id, conversation_id, seq, role, content, token_count, created_at);"
        "CREATE TABLE summaries (summary_id, conversation_id, kind, depth, content, created_at);"
        "CREATE TABLE context_items (conversation_id);"
    )
    connection.execute(
        "INSERT INTO conversations VALUES (1, 's1', 'unknown', 'agent:iris:main', '2026-04-01 10:00:00')"
    )
    rows = [(1, 1, 0, "user", "First.", 2, "2026-04-01 10:00:01"), (2, 1, 1, "tool", "", 0, "2026-04-01 10:00:02")]
    connection.executemany("INSERT INTO messages VALUES (?,?,?,?,?,?,?)", rows)
    connection.execute("INSERT INTO summaries VALUES ('sum_1', 1, 'leaf', 0, 'They began.', '2026-04-01 11:00:00')")
    connection.commit()
    connection.close()
    return path


def letta_file(folder: Path) -> Path:
    return written(folder / "agent.af", LETTA)


def graph(folder: Path) -> Path:
    return written(folder / "graph.json", {"edges": [EDGE, "x"], "episodes": [EPISODE]})


STORES = {
    "graphiti": (graph, 2, 1),
    "letta": (letta_file, 2, 2),
    "claude-mem": (lambda folder: claude_mem_database(folder / "claude-mem.db"), 3, 0),
    "openclaw-sessions": (openclaw_lines, 4, 2),
    "lossless-claw": (lambda folder: lossless_claw_database(folder / "lcm.db"), 2, 1),
}
"""Name -> the function that makes the store, the number of memories it yields, and the number of refused rows."""
