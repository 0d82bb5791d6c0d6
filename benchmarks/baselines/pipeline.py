"""The least work of the pipeline: the same reads, rows, commits and index writes by raw drivers in one plain loop.

python -m benchmarks.baselines.pipeline FOLDER REDIS_URL COUNT BATCH; reads COUNT submissions, prints one JSON object.
No validation beyond JSON, no fence, no retries, no leases, no service: the rest is the time of the engines themselves.
"""

import json
import sqlite3
import sys
import time
import uuid
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from qdrant_edge import Point, UpdateOperation
from redis import Redis
from tantivy import Document, Index

from openbrain.adapters.qdrant_edge.shard import Shard
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.tantivy.documents import FIELDS, INTEGERS, english
from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import EMBEDDED, STORED, SUBMITTED
from openbrain.streams.redis import scripts

DIMENSIONS = 384
MODEL = "m"
_MEMORY = (
    "id, workspace_id, content, type, memory_scope, org, project, agent_id, session_id, speaker, tags, metadata, "
    "source, confidence, version, revision, audience, content_hash, dedupe_key, occurred_at, confirmed_at, created_at, "
    "updated_at, wants_vector"
)
_HISTORY = "memory_id, workspace_id, version, revision, action, actor, at, note"
_KEY = "workspace_id, key_hash, memory_id, content_hash, expires_at"

Rows = Sequence[tuple[Any, ...]]


class Floor:
    """One client of each engine."""

    def __init__(self, folder: Path, url: str) -> None:
        folder.mkdir()
        upgrade(f"sqlite+aiosqlite:///{folder}/truth.sqlite3")
        self.sql = sqlite3.connect(folder / "truth.sqlite3", isolation_level=None)
        self.sql.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON")
        self.redis = Redis.from_url(url)
        (folder / "text").mkdir()
        self.text = Index(FIELDS, str(folder / "text"))
        self.text.register_tokenizer("english", english())
        self.writer = self.text.writer(15_000_000, 1)
        self.shard: Any = Shard.make(folder / "vectors", DIMENSIONS)._shard
        numbers = np.random.default_rng(1).standard_normal((256, DIMENSIONS)).astype(np.float32)
        self.vectors = [array("f", row.tobytes()) for row in numbers]
        for stream, group in ((SUBMITTED, "a"), (STORED, "b"), (STORED, "c"), (EMBEDDED, "d")):
            self.redis.xgroup_create(stream.name, group, "0", mkstream=True)

    def events(self, stream: str, group: str, count: int) -> tuple[list[bytes], list[Any]]:
        """Read and parse the next entries."""
        reply: Any = self.redis.xreadgroup(group, "x", {stream: ">"}, count=count)
        entries = reply[0][1]
        return [entry for entry, _ in entries], [orjson.loads(fields[FIELD.encode()]) for _, fields in entries]

    def insert(self, table: str, columns: str, rows: Rows) -> None:
        """Within the caller's transaction."""
        slots = ", ".join("?" * len(rows[0]))
        self.sql.executemany(f"INSERT INTO {table} ({columns}) VALUES ({slots})", rows)

    def relay(self, stream: str) -> None:
        """Publish committed rows to the stream."""
        waiting = self.sql.execute("SELECT id, body FROM outbox ORDER BY id").fetchall()
        bodies = [body for _, body in waiting]
        self.redis.eval(scripts.PUBLISH.source, len(bodies), *([stream] * len(bodies)), FIELD, *bodies)
        self.sql.execute("DELETE FROM outbox WHERE id BETWEEN ? AND ?", (waiting[0][0], waiting[-1][0]))

    def announce(self, stream: str, ids: Sequence[str]) -> None:
        """Within the caller's transaction."""
        self.insert("outbox", "stream, body", [(stream, orjson.dumps({"data": {"memory_id": each}})) for each in ids])

    def store(self, count: int) -> None:
        """Store submissions as rows."""
        entries, events = self.events(SUBMITTED.name, "a", count)
        now, ids = time.time_ns() // 1000, [str(uuid.uuid4()) for _ in events]
        found = [(each, event["data"]) for each, event in zip(ids, events, strict=True)]
        self.sql.execute("BEGIN IMMEDIATE")
        keys = [("default", uuid.uuid4().hex * 2, each, "h" * 64, now) for each in ids]
        self.insert("idempotency_keys", _KEY, keys)
        rows = [
            (
                *(each, "default", data["content"], data["type"], "project", data["org"], data["project"], "", "", ""),
                *(json.dumps(data["tags"]), "{}", "manual", 1.0, 1, 1, "*", "h" * 64, uuid.uuid4().hex * 2),
                *(now, now, now, now, 1),
            )
            for each, data in found
        ]
        self.insert("memories", _MEMORY, rows)
        self.insert("memory_history", _HISTORY, [(each, "default", 1, 1, "created", "x", now, "") for each in ids])
        self.announce(STORED.name, ids)
        self.sql.execute("COMMIT")
        self.redis.xack(SUBMITTED.name, "a", *entries)
        self.relay(STORED.name)

    def rows(self, ids: Sequence[str]) -> list[tuple[Any, ...]]:
        """Read complete rows."""
        slots = ", ".join("?" * len(ids))
        return self.sql.execute(f"SELECT * FROM memories WHERE id IN ({slots})", ids).fetchall()

    def mark(self, half: str, ids: Sequence[str]) -> None:
        """Mark the memories as indexed."""
        slots = ", ".join("?" * len(ids))
        self.sql.execute(f"UPDATE memories SET {half}_revision = 1 WHERE id IN ({slots})", ids)

    def words(self, count: int) -> None:
        """Write rows into the text index."""
        entries, events = self.events(STORED.name, "b", count)
        ids = [event["data"]["memory_id"] for event in events]
        for row in self.rows(ids):
            given = {
                "id": row[0],
                "memory_id": row[0].encode(),
                "keyword": [f"k={each}" for each in row[3:12]],
                "text": row[2],
                **dict.fromkeys(INTEGERS, 1),
                "confidence": 1.0,
                "tombstone": False,
            }
            self.writer.add_document(Document.from_dict(given, FIELDS))
        self.writer.commit()
        self.text.reload()
        self.mark("text", ids)
        self.redis.xack(STORED.name, "b", *entries)

    def embed(self, count: int) -> None:
        """Embed rows."""
        entries, events = self.events(STORED.name, "c", count)
        ids = [event["data"]["memory_id"] for event in events]
        self.rows(ids)
        hashes = [uuid.uuid4().hex * 2 for _ in ids]
        self.sql.execute("BEGIN IMMEDIATE")
        vectors = [(each, MODEL, self.vectors[at % 256].tobytes(), 0) for at, each in enumerate(hashes)]
        self.insert("embeddings", "input_hash, model, vector, created_at", vectors)
        passages = [(each, MODEL, 0, 1, made) for each, made in zip(ids, hashes, strict=True)]
        self.insert("memory_passages", "memory_id, model, passage, revision, input_hash", passages)
        self.announce(EMBEDDED.name, ids)
        self.sql.execute("COMMIT")
        self.redis.xack(STORED.name, "c", *entries)
        self.relay(EMBEDDED.name)

    def points(self, count: int) -> None:
        """Write vectors into the vector index."""
        entries, events = self.events(EMBEDDED.name, "d", count)
        ids = [event["data"]["memory_id"] for event in events]
        made = []
        for row in self.rows(ids):
            terms = " ".join(str(each)[:11] for each in row[1:12])
            payload = {"revision": 1, "mark": 1, "terms": terms, "occurred_at": 1}
            made.append(Point(row[0], self.vectors[0], payload))  # type: ignore[arg-type]
        self.shard.update(UpdateOperation.upsert_points(made))
        self.mark("vector", ids)
        self.redis.xack(EMBEDDED.name, "d", *entries)


def main(folder: Path, url: str, count: int, batch: int) -> None:
    floor = Floor(folder, url)
    cpu = time.process_time()
    for start in range(0, count, batch):
        some = min(batch, count - start)
        for step in (floor.store, floor.words, floor.embed, floor.points):
            step(some)
    print(json.dumps({"cpu": time.process_time() - cpu}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
