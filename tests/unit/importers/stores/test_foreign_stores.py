"""Other memory systems' files, modelled on their formats: what becomes of each row, and of items that are no rows."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from openbrain_cli.memories.transfer.foreign.conversion import Converted, convert
from openbrain_cli.memories.transfer.foreign.fields import as_tags
from openbrain_cli.memories.transfer.foreign.locations import FORMATS, table_in
from tests.support.cli.foreign_stores import (
    EDGE,
    EPISODE,
    LETTA,
    LONG,
    OBSERVATION,
    PROMPT,
    STORES,
    SUMMARY,
    claude_mem_database,
    lossless_claw_database,
    openclaw_database,
    openclaw_lines,
    written,
)


def taken(path: Path, store: str, agent: str = "") -> tuple[Converted, list[dict[str, Any]]]:
    table = table_in(path)
    assert table is not None
    assert table.name == store
    target = path.with_name("converted.ndjson")
    done = convert(table, target, agent=agent, progress=lambda _: None)
    lines = [json.loads(line) for line in target.read_bytes().splitlines()]
    return done, [each for each in lines if each["kind"] == "memory"]


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ('{cache,"two words"}', ["cache", "two words"]),
        ('["cache", 2024, "cache"]', ["cache", "2024"]),
        ("cache, tenancy", ["cache", "tenancy"]),
        ("2024", ["2024"]),
        ("true", ["true"]),
        (2024, ["2024"]),
        (["cache"], ["cache"]),
        ("null", []),
        ("{}", []),
        ("", []),
        (None, []),
    ],
)
def test_tags_are_read_in_each_form(cell: object, tags: list[str]) -> None:
    assert as_tags(cell) == tags


def test_facts_of_graphiti_end_when_they_stop_being_true(tmp_path: Path) -> None:
    over = EDGE | {"uuid": "u3", "fact": "Ada lives in Kiel.", "invalid_at": "2026-01-01T00:00:00Z"}
    done, (now, past, said) = taken(
        written(tmp_path / "graph.json", {"edges": [EDGE, over, "x"], "episodes": [EPISODE]}), "graphiti"
    )

    assert (now["type"], now["tags"], now["occurred_at"]) == ("fact", ["WORKS_AT"], "2025-06-01T00:00:00+00:00")
    assert now["id"] == EDGE["uuid"]
    assert now["metadata"]["source_node_uuid"] == "a"
    assert "fact_embedding" not in now["metadata"]
    assert (past["reason"], past["deleted_at"]) == ("forgotten", "2026-01-01T00:00:00+00:00")
    assert (said["type"], said["content"]) == ("context", EPISODE["content"])
    assert [each["message"] for each in done.refusals] == ["is no record with named fields"]


def test_one_edge_a_line_and_a_broken_one(tmp_path: Path) -> None:
    path = tmp_path / "edges.ndjson"
    path.write_text(json.dumps(EDGE) + "\n{broken\n" + json.dumps(EDGE) + "\n", encoding="utf-8")
    done, memories = taken(path, "graphiti")

    assert len(memories) == 1
    assert [each["message"] for each in done.refusals] == ["line 2 is no JSON", "has the id of an earlier row"]


@pytest.mark.parametrize("name", ["harbour.af", "harbour.json"])
def test_blocks_and_messages_of_letta(name: str, tmp_path: Path) -> None:
    done, (block, message) = taken(written(tmp_path / name, LETTA), "letta")

    assert (block["memory_scope"], block["agent_id"], block["tags"]) == ("agent", "harbour", ["human"])
    assert block["content"] == "Name: Ada. Likes ferries."
    assert (message["type"], message["turn"], message["speaker"]) == ("context", 1, "user")
    assert message["content"] == "When does the ferry leave?"
    assert {each["message"] for each in done.refusals} == {
        "is no block with a text",
        "is no message of user or assistant",
    }


def test_claude_mem_says_the_same_as_an_export_and_as_a_database(tmp_path: Path) -> None:
    export = {"exportedAt": "x", "observations": [OBSERVATION], "sessions": [], "summaries": [SUMMARY]}
    _, exported = taken(written(tmp_path / "export.json", export | {"prompts": [PROMPT]}), "claude-mem")
    _, stored = taken(claude_mem_database(tmp_path / "claude-mem.db"), "claude-mem")

    assert exported == stored
    bug, summary, prompt = stored
    assert (bug["type"], bug["project"], bug["tags"]) == ("bug", "shop", ["cache", "tenancy"])
    assert bug["content"].startswith("Cache key lacked the tenant\n\nTwo tenants")
    assert bug["metadata"]["files_read"] == ["src/cache.py"]
    assert summary["content"] == "Request: Fix the prices\n\nLearned: The cache is shared"
    assert (prompt["content"], prompt["type"]) == ("Why are prices wrong?", "context")


@pytest.mark.parametrize("made", [openclaw_lines, openclaw_database])
def test_transcripts_of_openclaw_old_and_new(made: Any, tmp_path: Path) -> None:
    done, (asked, answer, *result) = taken(made(tmp_path), "openclaw-sessions")

    assert (asked["agent_id"], asked["session_id"], asked["speaker"]) == ("iris", "agent:iris:main", "user")
    assert (asked["content"], asked["source"]) == ("Deploy, please.", "openclaw:iris")
    assert answer["content"] == 'On it.\n[call of shell {"cmd": "make"}]'
    assert "".join(each["content"] for each in result) == f"[result of shell]\n{LONG}"
    assert [(each["metadata"]["part"], each["metadata"]["parts"]) for each in result] == [(1, 2), (2, 2)]
    assert len({each["identity"] for each in (asked, answer, *result)}) == 4
    assert len(done.refusals) == 2
    assert {each["message"] for each in done.refusals} >= {"is no message of user, assistant or tool"}


def test_messages_and_summaries_of_lossless_claw(tmp_path: Path) -> None:
    done, (message, summary) = taken(lossless_claw_database(tmp_path / "lcm.db"), "lossless-claw")

    assert (message["agent_id"], message["session_id"], message["turn"]) == ("iris", "agent:iris:main", 0)
    assert summary["metadata"] | {"advancementKey": ""} == {
        "sessionId": "agent:iris:main",
        "type": "summary",
        "depth": 0,
        "kind": "leaf",
        "advancementKey": "",
    }
    assert [each["message"] for each in done.refusals] == ["content: must not be blank"]


def test_what_a_terminal_would_obey_is_kept_as_text(tmp_path: Path) -> None:
    _, (memory,) = taken(written(tmp_path / "g.json", {"edges": [EDGE | {"fact": "red \x1b[31m"}]}), "graphiti")

    assert memory["content"] == "red \\u001b[31m"


def test_nothing_is_taken_for_two_stores(tmp_path: Path) -> None:
    made = {store: make(tmp_path) for store, (make, _, _) in STORES.items()}

    for store, path in made.items():
        assert [name for name, form in FORMATS.items() if form.rows_of(path) is not None] == [store]


@pytest.mark.parametrize("odd", [5, True, {"a": 1}, [{"a": 1}], [[1]]])
def test_a_part_of_another_form_stops_nothing(odd: object, tmp_path: Path) -> None:
    agents: Any = LETTA["agents"]
    message = {"id": "m", "role": odd, "content": "x", "created_at": "2026-01-01"}
    for name, value in (("block_ids", odd), ("messages", odd), ("messages", [message])):
        path = tmp_path / "agent.af"
        path.write_text(json.dumps(LETTA | {"agents": [agents[0] | {name: value}, *agents[1:]]}), encoding="utf-8")
        assert taken(path, "letta")[0].memories

    path = tmp_path / "s1.jsonl"
    event = {"type": "message", "timestamp": "2026-01-01T00:00:00Z"}
    roles = [odd, "user"]
    lines = [{**event, "message": {"role": role, "content": "x"}} for role in roles]
    path.write_text("\n".join(map(json.dumps, [{"type": "session", "id": "s1"}, *lines])), encoding="utf-8")
    assert taken(path, "openclaw-sessions")[0].memories == 1


def test_an_event_that_is_no_text_stops_nothing(tmp_path: Path) -> None:
    path = openclaw_database(tmp_path / "openclaw.sqlite")
    before = taken(path, "openclaw-sessions")[0]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE transcript_events SET event_json = 5 WHERE seq = (SELECT max(seq) FROM transcript_events)"
        )
        connection.commit()

    assert taken(path, "openclaw-sessions")[0].rows == before.rows
