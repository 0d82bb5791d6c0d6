"""Folding of near-equal memories in an answer, and ranks of memories without a project in a recall of a project.

`echo_pairs.json`: pairs with the same meaning, and pairs that differ in a number, a date, a name, a negation, an order
or a limit. `project_cases.json`: a question, a note of the project and one without a project. The project's note is
right if both answer the question; the other one is right if the project's note only shares words with it.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.support.report import Report, Row
from benchmarks.support.system import running, wait_until_indexed

NAME = "sets"
FOLDER = Path(__file__).with_name("cases")
MARGINS = (0.0, 0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3)
FOLDED, WRONGLY_FOLDED, FIRST = 0.85, 0.0, 0.85


def add_options(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(options: argparse.Namespace) -> Report:  # noqa: ARG001 - as every benchmark
    """Start a system, store, wait, ask."""
    with running({}) as system, system.client() as client:
        rows = [*_folding(client), *_projects(client)]
    return Report(NAME, tuple(rows), ("with late interaction; text and vectors of MiniLM",))


def _folding(client: httpx.Client) -> Iterator[Row]:
    pairs = _read("echo_pairs.json")
    for kind, goal, most in (("same", FOLDED, False), ("different", WRONGLY_FOLDED, True)):
        folded = _folded(client, pairs[kind], kind)
        what = f"{len(pairs[kind])} pairs that {'say the same' if kind == 'same' else 'differ'}, folded"
        yield Row(what, "", (sum(folded) / len(folded),), goal=goal, at_most=most)


def _folded(client: httpx.Client, pairs: Sequence[Sequence[str]], kind: str) -> list[bool]:
    notes = [
        {"content": text, "type": "fact", "project": f"{kind}-{number}"}
        for number, pair in enumerate(pairs)
        for text in pair
    ]
    ids = _store(client, notes)
    asked = [
        client.post(
            "/v1/brain/recall",
            json={"query": pair[0], "project": f"{kind}-{number}", "precision": "recall"},
        )
        for number, pair in enumerate(pairs)
    ]
    answers = [answer.raise_for_status().json() for answer in asked]
    places = zip(answers, ids[::2], ids[1::2], strict=True)
    return [one == other or bool(answer["folded"]) for answer, one, other in places]


def _projects(client: httpx.Client) -> Iterator[Row]:
    """Lead of the right note over the other without a margin; then the share of right notes that rank first, by
    margin."""
    gaps = {kind: list(_gaps(client, cases, kind)) for kind, cases in _read("project_cases.json").items()}
    for margin in MARGINS:
        yield Row(f"right one first with a margin of {margin:g}", "", (_right(gaps, margin),))
    used = max(margin for each in gaps.values() for _, margin in each)
    yield Row(f"right one first as it is set ({used:g})", "", (_right(gaps, used),), goal=FIRST)


def _right(gaps: Mapping[str, Sequence[tuple[float, float]]], margin: float) -> float:
    of_project = sum(gap + margin > 0 for gap, _ in gaps["of_project"])
    of_all = sum(gap - margin > 0 for gap, _ in gaps["of_all"])
    return (of_project + of_all) / sum(map(len, gaps.values()))


def _gaps(client: httpx.Client, cases: Sequence[Sequence[str]], kind: str) -> Iterator[tuple[float, float]]:
    notes: list[dict[str, Any]] = []
    for _, own, common in cases:
        notes += [{"content": own, "type": "fact", "project": kind}, {"content": common, "type": "fact"}]
    ids = _store(client, notes)
    for (query, _, _), own, common in zip(cases, ids[::2], ids[1::2], strict=True):
        body = {"query": query, "project": kind, "precision": "recall", "explain": True, "top_k": 100}
        told = client.post("/v1/brain/recall", json=body).raise_for_status().json()["explained"]
        gap = _plain(told, own) - _plain(told, common)
        margin = -told[common]["project"] if common in told else 0.0
        yield (gap if kind == "of_project" else -gap), margin


def _plain(told: Mapping[str, Any], memory_id: str) -> float:
    return float(told[memory_id]["boosted"] - told[memory_id]["project"]) if memory_id in told else 0.0


def _store(client: httpx.Client, notes: Sequence[Mapping[str, Any]]) -> list[str]:
    stored = client.post("/v1/brain/remember:batch", json={"memories": list(notes)}).raise_for_status().json()
    ids = [result["id"] for result in stored["results"]]
    wait_until_indexed(client, ids)
    return ids


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name).read_text(encoding="utf-8")))
