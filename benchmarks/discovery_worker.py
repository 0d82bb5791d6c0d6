"""The process that benchmark `discovery` measures: a filled system on embedded parts, its raw engine and its API.

python -m benchmarks.discovery_worker FOLDER COUNT; prints its address as JSON, then answers each line of its input with
the raw figures as a line of JSON, until the input closes.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn

from benchmarks.filling import fill
from benchmarks.recall_worker import INPUTS, ROWS, median, read_rows, sample
from benchmarks.texts import questions
from benchmarks.zero_cost import zero_cost_parts
from openbrain.adapters.tantivy_text.queries import any_word, compiled, filtered
from openbrain.parts import Parts
from openbrain.settings import Settings
from openbrain.visibility import AllOf, Criteria, Viewer, visible
from openbrain_api.app import api
from openbrain_cli.serving import loop_factory
from openbrain_cli.system import running

TAGS = 100
WITHIN = Criteria(org="acme", project="p4", only_project=True)


async def main(folder: Path, count: int) -> None:
    async with running(Settings(data_dir=folder), zero_cost_parts) as system:
        parts = system.parts
        await fill(parts, count)
        server = uvicorn.Server(uvicorn.Config(api(parts), port=0, log_config=None, access_log=False))
        task = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn tells no other way
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        key = system.key_file.read_text(encoding="utf-8").strip()
        print(json.dumps({"port": port, "key": key}), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await raw_figures(parts)), flush=True)
        server.should_exit = True
        await task


async def raw_figures(parts: Parts) -> dict[str, float]:
    """Medians in ms, without and with a filter on org and project, of what the routes cannot do without."""
    index: Any = parts.text
    generation = index._prepared((await parts.text_generation()).name).generation
    ids = sample(parts)
    pages = [ids[start : start + ROWS] for start in range(0, len(ids), ROWS)]
    figures = {"rows": await median(read_rows(parts), pages)}
    for name, criteria in (("all", Criteria()), ("filtered", WITHIN)):
        condition = visible(Viewer(workspace_id="default", agent_id=""), criteria, parts.clock.now())
        figures[f"search {name}"] = await median(searching(generation, condition), questions(INPUTS, seed=3))
        figures[f"tags {name}"] = await median(counting(generation, condition), range(INPUTS))
    return figures


def searching(generation: Any, condition: AllOf) -> Callable[[str], Awaitable[object]]:
    """tantivy's own search with the same filter: the best 20 and the total."""

    async def ask(question: str) -> object:
        words = any_word(question, generation._english, generation._fields)
        assert words is not None
        wanted = filtered(words, condition, generation._fields)
        return generation._index.searcher().search(wanted, limit=ROWS, count=True)

    return ask


def counting(generation: Any, condition: AllOf) -> Callable[[int], Awaitable[object]]:
    """tantivy's own count of terms within the same filter."""

    async def ask(_: int) -> object:
        within = compiled(condition, generation._fields)
        return generation._index.searcher().terms_with_prefix("keyword", "tags=", within, TAGS)

    return ask


if __name__ == "__main__":
    from openbrain import logs
    from openbrain.settings import Logs

    logs.configure(Logs(level="WARNING"))
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(Path(sys.argv[1]), int(sys.argv[2])))
