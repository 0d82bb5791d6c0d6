"""The process that benchmark `discovery` measures: a filled system on embedded parts, its raw engine and its API.

python -m benchmarks.workers.discovery FOLDER COUNT; prints its address as JSON, then answers each line of its input,
the name of a figure, with that raw figure in ms, until the input closes.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.texts import questions
from benchmarks.workers.recall import INPUTS, ROWS, read_rows, sample
from benchmarks.workers.served import served
from openbrain.adapters.tantivy.queries import compiled, filtered
from openbrain.adapters.tantivy.search import question
from openbrain.domain.access.visibility import AllOf, Criteria, Viewer, visible
from openbrain.ports.index import TextQuery
from openbrain.runtime.container import Container
from openbrain_cli.system import event_loop

TAGS = 100
WITHIN = Criteria(org="acme", project="p4", only_project=True)


async def main(folder: Path, count: int) -> None:
    async with served(folder, count) as container:
        raw = await raw_calls(container)
        while name := (await asyncio.to_thread(sys.stdin.readline)).strip():
            print(json.dumps({"ms": await raw[name]()}), flush=True)


async def raw_calls(container: Container) -> dict[str, Callable[[], Awaitable[float]]]:
    """By the name of the row: the function that measures the median in ms of the unavoidable part of the route."""
    index: Any = container.text
    reader = index._prepared((await container.text_generation()).name).generation.reader()
    ids = sample(container)
    pages = [ids[start : start + ROWS] for start in range(0, len(ids), ROWS)]
    rows = read_rows(container)

    def search(criteria: Criteria, *, fuzzy: bool = False, facet: bool = False) -> Callable[[], Awaitable[float]]:
        ask = searching(reader, condition(container, criteria), fuzzy=fuzzy, facet=facet)

        async def measured() -> float:
            return await median(ask, questions(INPUTS, seed=3)) + await median(rows, pages[:INPUTS])

        return measured

    def tags(criteria: Criteria) -> Callable[[], Awaitable[float]]:
        ask = counting(reader, condition(container, criteria))
        return lambda: median(ask, range(INPUTS))

    return {
        "search": search(Criteria()),
        "search, filtered": search(WITHIN),
        "search, fuzzy": search(WITHIN, fuzzy=True),
        "search, highlights and facet": search(WITHIN, facet=True),
        "tags": tags(Criteria()),
        "tags, filtered": tags(WITHIN),
    }


async def median(call: Callable[[Any], Awaitable[object]], inputs: Sequence[Any]) -> float:
    """The time of one call each, in ms."""
    times = []
    for each in inputs:
        begun = time.perf_counter()
        await call(each)
        times.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0)  # the services in this process must not starve
    return statistics.median(times)


def condition(container: Container, criteria: Criteria) -> AllOf:
    return visible(Viewer(workspace_id="default", agent_id=""), criteria, container.clock.now())


def searching(reader: Any, within: AllOf, *, fuzzy: bool, facet: bool) -> Callable[[str], Awaitable[object]]:
    """tantivy's own search with the same filter: the best 20 and the total; with `facet`, its count of terms too."""

    async def ask(words: str) -> object:
        query = question(TextQuery(words=words, fuzzy=fuzzy), reader.analyzer)
        assert query is not None
        wanted = filtered(query, compiled(within))
        if facet:
            reader.searcher.terms_with_prefix("keyword", "tags=", wanted, TAGS)
        return reader.searcher.search(wanted, limit=ROWS, count=True)

    return ask


def counting(reader: Any, within: AllOf) -> Callable[[int], Awaitable[object]]:
    """tantivy's own count of terms within the same filter."""

    async def ask(_: int) -> object:
        return reader.searcher.terms_with_prefix("keyword", "tags=", compiled(within), TAGS)

    return ask


if __name__ == "__main__":
    from openbrain.observability import logs
    from openbrain.settings import Logs

    logs.configure(Logs(level="WARNING"))
    event_loop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
