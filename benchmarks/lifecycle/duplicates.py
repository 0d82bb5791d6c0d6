"""Near duplicates: how many of a labelled set are found, and how often something else is taken for one.

The set (`tests/samples/duplicates`) is 420 pairs of notes about software work. The rule, its words and its thresholds
were chosen on the half `tuning`; the half `frozen` was fixed before that.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.report import Report, Row, share

NAME = "duplicates"
SAMPLES = Path(__file__).parents[2] / "tests" / "samples" / "duplicates"
PRECISION, RECALL = 0.98, 0.8
HEADERS = ("2026-11-20", "2026-11-22")
"""The days of the two notes of a pair: they give different model inputs, as in practice."""
Pairs = Mapping[str, Mapping[str, Sequence[tuple[str, str]]]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(options: argparse.Namespace) -> Report:  # noqa: ARG001 - as every benchmark
    """Measure both halves with the embedded model."""
    rows: list[Row] = []
    notes = []
    for half in ("tuning", "frozen"):
        judged = asyncio.run(_judged(json.loads((SAMPLES / f"{half}.json").read_text(encoding="utf-8"))))
        rows += _rows(half, judged)
        shares = (f"{kind} {sum(found)}/{len(found)}" for kind, found in judged["same"].items())
        notes.append(f"{half}, found by kind: {', '.join(shares)}")
    return Report(NAME, tuple(rows), tuple(notes))


def _rows(half: str, judged: Mapping[str, Mapping[str, Sequence[bool]]]) -> Iterator[Row]:
    same, different = ([found for some in judged[side].values() for found in some] for side in ("same", "different"))
    taken = [True] * sum(same) + [False] * sum(different)
    for what, hits, goal in (("precision", taken, PRECISION), ("recall", same, RECALL)):
        value, low, high = share(hits)
        about = f"{half}: {what}, {sum(hits)} of {len(hits)} [{low:.3f}, {high:.3f}]"
        yield Row(about, "", (value,), goal=goal)


async def _judged(pairs: Pairs) -> Mapping[str, Mapping[str, Sequence[bool]]]:
    from openbrain.adapters.embedding.minilm import MiniLM

    model = MiniLM(threads=1)
    try:
        return {
            side: {kind: [await _duplicate(model, pair) for pair in some] for kind, some in kinds.items()}
            for side, kinds in pairs.items()
        }
    finally:
        await model.close()


async def _duplicate(model: Any, pair: tuple[str, str]) -> bool:
    from openbrain.domain.memory import Memory, MemoryType
    from openbrain.domain.text.duplicates.near import Reading, near_duplicates

    inputs = [model.passages(text, header)[0] for text, header in zip(pair, HEADERS, strict=True)]
    one, other = await model.embed(inputs)
    cosine = sum(x * y for x, y in zip(one, other, strict=True))
    first, second = (Reading.of(Memory(id="", workspace_id="", content=text, type=MemoryType.FACT)) for text in pair)
    return near_duplicates(first, second, cosine)
