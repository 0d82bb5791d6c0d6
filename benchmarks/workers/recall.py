"""The process that benchmark `recall` measures: a filled system on embedded parts, its raw engines and its API.

python -m benchmarks.workers.recall FOLDER COUNT; prints its address as JSON, then answers `cpu` and `raw FILTER` with a
line of JSON until its input closes.
"""

import asyncio
import json
import sqlite3
import statistics
import sys
import time
from array import array
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.support.texts import questions
from benchmarks.support.zero_cost import zero_cost_parts_with_states
from benchmarks.workers.served import served
from openbrain.adapters.qdrant_edge.shard import Nearest
from openbrain.adapters.qdrant_edge.terms import compiled as edge_filter
from openbrain.adapters.sql.schema.tables import TURNS
from openbrain.adapters.sql.store import FILE
from openbrain.adapters.tantivy.queries import any_word, compiled, filtered
from openbrain.domain.access.visibility import AllOf, Criteria, Viewer, visible
from openbrain.runtime.container import Container
from openbrain_cli.system import event_loop

T = TypeVar("T")
ROWS = 20
CANDIDATES = 100
COMPARED = 180
"""Candidates of both indexes together: few are in both."""
MOST = 10_000
INPUTS = 60
FILTERS = {"workspace only": Criteria(), "filtered": Criteria(org="acme", project="p4")}


async def main(folder: Path, count: int) -> None:
    async with served(folder, count, parts=zero_cost_parts_with_states) as container:
        while line := await asyncio.to_thread(sys.stdin.readline):
            command, _, name = line.strip().partition(" ")
            figures = await raw_figures(container, FILTERS[name]) if command == "raw" else {"cpu": time.process_time()}
            print(json.dumps(figures), flush=True)


async def raw_figures(container: Container, criteria: Criteria) -> dict[str, float]:
    """Medians in ms of the unavoidable parts of a recall, measured per question, one part after the other: elapsed
    time, and (`cpu` after the name) CPU time of the process."""
    condition = visible(Viewer(workspace_id="default", agent_id=""), criteria, container.clock.now())
    vectors, text = await raw_vectors(container, condition), await raw_text(container, condition)
    rows, turns, late = read_rows(container), read_turns(container), await raw_late(container)
    ids = sample(container)
    times: dict[str, list[float]] = defaultdict(list)

    async def timed(part: str, call: Awaitable[T]) -> T:
        begun, cpu = time.perf_counter(), time.process_time()
        result = await call
        times[part].append((time.perf_counter() - begun) * 1000)
        times[f"{part} cpu"].append((time.process_time() - cpu) * 1000)
        await asyncio.sleep(0)  # the services in this process must not starve
        return result

    encoder = container.token_encoder
    assert encoder is not None
    for number, question in enumerate(questions(INPUTS, seed=3)):
        (encoded,) = await timed("embed", encoder.encode_queries([question]))
        await timed("vectors", vectors(encoded.vector))
        await timed("text", text(question))
        compared = ids[number * COMPARED % (len(ids) - COMPARED) :][:COMPARED]
        await timed("turns", turns(compared))
        await timed("late", late(encoded.states, compared))
        await timed("rows", rows(ids[number * ROWS : (number + 1) * ROWS]))
    return {part: statistics.median(each) for part, each in times.items()}


async def raw_vectors(container: Container, condition: AllOf) -> Callable[["array[float]"], Awaitable[object]]:
    """The engine's own query with the same filter, ids only. Nothing expires, so the adapter omits expiry."""
    index: Any = container.vectors
    shard = index._shard((await container.vector_generation()).name)._shard
    wanted = edge_filter(
        AllOf(tuple(each for each in condition.conditions if getattr(each, "field", "") != "expires_at"))
    )

    async def ask(vector: "array[float]") -> object:
        return shard.query(Nearest(vector, wanted, CANDIDATES, CANDIDATES).request())

    return ask


async def raw_text(container: Container, condition: AllOf) -> Callable[[str], Awaitable[object]]:
    """tantivy's own search with the same filter, addresses only."""
    index: Any = container.text
    generation = index._prepared((await container.text_generation()).name).generation

    async def ask(question: str) -> object:
        words = any_word(question, generation._english)
        assert words is not None
        wanted = filtered(words, compiled(condition))
        found = generation._index.searcher().search(wanted, limit=CANDIDATES, count=False)
        assert found.hits, "these filters leave nothing to find"
        return found

    return ask


async def raw_late(container: Container) -> Callable[["array[float]", Sequence[str]], Awaitable[object]]:
    """Read the token states of these ids on a bare connection and compare them with a question's."""
    encoder, model = container.token_encoder, (await container.vector_generation()).model
    assert encoder is not None
    connection = sqlite3.connect(container.settings.data_dir / FILE)
    marks = ", ".join("?" * COMPARED)
    states = f"""SELECT e.states FROM memory_passages AS p
      JOIN embeddings AS e ON e.input_hash = p.input_hash AND e.model = p.model
      WHERE p.model = ? AND p.memory_id IN ({marks})"""

    async def compare(question: "array[float]", ids: Sequence[str]) -> object:
        found = encoder.similarities(question, [[row[0]] for row in connection.execute(states, (model, *ids))])
        assert len(found) == COMPARED
        assert None not in found
        return found

    return compare


def read_turns(container: Container) -> Callable[[Sequence[str]], Awaitable[object]]:
    """Read which of these ids are turns of a session on a bare connection; none is here."""
    connection = sqlite3.connect(container.settings.data_dir / FILE)
    marks = ", ".join("?" * COMPARED)

    async def read(ids: Sequence[str]) -> object:
        turns = f"""SELECT id, session_id, turn FROM memories INDEXED BY {TURNS}
          WHERE id IN ({marks}) AND turn IS NOT NULL"""
        return connection.execute(turns, ids).fetchall()

    return read


def sample(container: Container) -> list[str]:
    with sqlite3.connect(container.settings.data_dir / FILE) as connection:
        query = "SELECT id FROM memories ORDER BY content_hash LIMIT ?"
        return [row[0] for row in connection.execute(query, (MOST,))]


def read_rows(container: Container) -> Callable[[Sequence[str]], Awaitable[object]]:
    """Read 20 complete rows by id on a bare connection."""
    connection = sqlite3.connect(container.settings.data_dir / FILE)
    marks = ", ".join("?" * ROWS)

    async def read(ids: Sequence[str]) -> object:
        return connection.execute(f"SELECT * FROM memories WHERE id IN ({marks})", ids).fetchall()

    return read


if __name__ == "__main__":
    from openbrain.observability import logs
    from openbrain.settings import Logs

    logs.configure(Logs(level="WARNING"))
    event_loop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
