"""Precision and recall of answers with `match: "names"`, and by meaning, which is the default.

The first set of cases is in `cases` and was written without looking at the answers of the rule. The second is
PrecisionMemBench's single-turn cases: a belief is a memory with title and aliases, its scope a project. Only beliefs
that the case lists as relevant count as right; those that it expects elsewhere in its prompt (pinned facts, open
questions) count as wrong.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.support.report import Report, Row
from benchmarks.support.system import running, wait_until_indexed

NAME = "names"
OWN = Path(__file__).with_name("cases") / "names_cases.json"
GOALS: Mapping[str, tuple[float, float]] = {"names": (0.85, 0.95), "balanced": (0.36, 0.93)}
"""Least precision and recall, by kind of request."""
ASKED: Mapping[str, Mapping[str, object]] = {"names": {"match": "names", "top_k": 100}, "balanced": {}}
TYPES = {"decision": "decision", "preference": "convention", "open_question": "plan"}


@dataclass(frozen=True, slots=True)
class Case:
    """A question within some projects, and the notes that should be found."""

    query: str
    projects: tuple[str, ...]
    wanted: frozenset[str]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the path of the public cases; without it only our own cases are measured."""
    parser.add_argument("--precisionmembench", type=Path, help="folder with beliefs.seed.json and retrieval.cases.json")


def run(options: argparse.Namespace) -> Report:
    """Start a system, store, wait, ask."""
    with running({}) as system, system.client() as client:
        rows = list(_rows("own", _own_notes(), list(_own_cases()), client))
        if options.precisionmembench:
            notes = list(_beliefs(options.precisionmembench))
            rows += _rows("PrecisionMemBench", notes, list(_public_cases(options.precisionmembench)), client)
    return Report(NAME, tuple(rows), ("mean over cases; an empty answer is precise where nothing is wanted",))


def _own_notes() -> list[dict[str, Any]]:
    notes = json.loads(OWN.read_text(encoding="utf-8"))["notes"]
    return [
        {"key": key, "title": title, "aliases": aliases, "content": content, "type": "fact", "project": "own"}
        for key, (title, aliases, content) in notes.items()
    ]


def _own_cases() -> Iterator[Case]:
    for query, wanted in json.loads(OWN.read_text(encoding="utf-8"))["cases"]:
        yield Case(query, ("own",), frozenset(wanted))


def _beliefs(folder: Path) -> Iterator[dict[str, Any]]:
    """Active beliefs of the asking user, once for each of their scopes."""
    for belief in json.loads((folder / "beliefs.seed.json").read_text(encoding="utf-8")):
        if belief["resolved_at"] or belief["superseded_by"] or belief["user_id"] != "test-user":
            continue
        for scope in belief["scope"]:
            yield {
                "key": belief["_id"],
                "title": belief["canonical_name"],
                "aliases": belief["aliases"],
                "content": belief["content"],
                "type": TYPES.get(belief["type"], "fact"),
                "project": scope,
            }


def _public_cases(folder: Path) -> Iterator[Case]:
    """The public cases, except those with an empty question."""
    for case in json.loads((folder / "retrieval.cases.json").read_text(encoding="utf-8")):
        wanted = case["expect"].get("relevantBeliefs", {}).get("shouldOnlyInclude")
        if case["query"].strip() and wanted is not None and case.get("userId", "test-user") == "test-user":
            yield Case(case["query"], tuple(case["scope"]), frozenset(wanted))


def _rows(name: str, notes: Sequence[Mapping[str, Any]], cases: Sequence[Case], client: httpx.Client) -> Iterator[Row]:
    bodies = [{member: value for member, value in note.items() if member != "key"} for note in notes]
    stored = client.post("/v1/brain/remember:batch", json={"memories": bodies}).raise_for_status().json()["results"]
    keys = {result["id"]: note["key"] for result, note in zip(stored, notes, strict=True)}
    wait_until_indexed(client, list(keys))
    for side, asked in ASKED.items():
        answers = [frozenset(_asked(client, case, keys, asked)) for case in cases]
        pairs = [(answer, case.wanted) for answer, case in zip(answers, cases, strict=True)]
        precise = [_share(answer & wanted, answer, wanted) for answer, wanted in pairs]
        found = [_share(answer & wanted, wanted, ()) for answer, wanted in pairs]
        precision, recall = GOALS[side]
        yield Row(f"{name}, {side}: precision", f"of {len(cases)} cases", (sum(precise) / len(cases),), goal=precision)
        yield Row(f"{name}, {side}: recall", f"of {len(cases)} cases", (sum(found) / len(cases),), goal=recall)


def _share(right: frozenset[str], of: frozenset[str], otherwise: object) -> float:
    """Share of `right` in `of`. If `of` is empty: 1 if `otherwise` is empty too, else 0."""
    return len(right) / len(of) if of else float(not otherwise)


def _asked(client: httpx.Client, case: Case, keys: Mapping[str, str], asked: Mapping[str, object]) -> Iterator[str]:
    for project in case.projects:
        body = {"query": case.query, "project": project, **asked}
        for memory in client.post("/v1/brain/recall", json=body).raise_for_status().json()["memories"]:
            yield keys[memory["id"]]
