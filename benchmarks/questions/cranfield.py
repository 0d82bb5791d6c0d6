"""Do the steps for conversations hurt documents? The Cranfield collection (1,400 abstracts, 225 questions).

Each abstract is one memory without a session. nDCG@10: a document judged 1 to 4 has relevance 1.
"""

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx

from benchmarks.questions.retrieval import ALL, BARE, Json
from benchmarks.support.report import Report, Row
from benchmarks.support.system import running, wait_until_indexed

NAME = "cranfield"
SIDES: Mapping[str, dict[str, Json]] = {
    "text": {"text_weight": 1.0, **BARE, **ALL},
    "vectors": {"text_weight": 0.0, **BARE, **ALL},
    "fused": {**BARE, **ALL},
    "all steps": ALL,
    "by default": {},
}
BEFORE = "fused"
"""Words and vectors without the later steps. The default must not be worse by more than the noise of 225 questions."""
ALLOWED_LOSS = -0.01
BATCH = 50
_ENTRY = re.compile(r"^\.I +\d+[ \t]*\n", re.MULTILINE)
_FIELD = re.compile(r"^\.([TABW])[ \t]*\n", re.MULTILINE)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the path of the collection; without it the benchmark is skipped with a note."""
    parser.add_argument("--cranfield", type=Path, help="folder with cran.all.1400, cran.qry and cranqrel")


def run(options: argparse.Namespace) -> Report:
    """Start a system, store, wait, ask."""
    if not options.cranfield:
        return Report(NAME, (), ("left out: give --cranfield FOLDER",))
    documents = list(_texts(options.cranfield / "cran.all.1400"))
    questions = list(_texts(options.cranfield / "cran.qry"))
    relevant = _relevant(options.cranfield / "cranqrel")
    with running() as system, system.client() as client:
        numbers = _store(client, documents)
        gains = {
            side: [
                _ndcg(_asked(client, question, numbers, asked), relevant[number])
                for number, question in enumerate(questions, 1)
            ]
            for side, asked in SIDES.items()
        }
    about = f"{len(documents)} documents, {len(questions)} questions; relevant or not"
    return Report(NAME, tuple(_rows(gains)), (about,))


def _texts(path: Path) -> Iterator[str]:
    """The body of each entry, in order of the entry numbers."""
    for entry in _ENTRY.split(path.read_text(encoding="utf-8"))[1:]:
        parts = _FIELD.split(entry)[1:]
        bodies = (body for name, body in zip(parts[::2], parts[1::2], strict=True) if name == "W")
        yield " ".join(" ".join(bodies).split())


def _relevant(path: Path) -> Mapping[int, frozenset[int]]:
    """The documents judged 1 to 4, by the position of the question."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for line in path.read_text(encoding="utf-8").splitlines():
        question, document, grade = map(int, line.split())
        if grade > 0:
            found[question].add(document)
    return {question: frozenset(some) for question, some in found.items()}


def _store(client: httpx.Client, documents: Sequence[str]) -> Mapping[str, int]:
    """Store the documents; return their numbers by memory id."""
    numbers: dict[str, int] = {}
    known = [(number, text) for number, text in enumerate(documents, 1) if text]
    for start in range(0, len(known), BATCH):
        part = known[start : start + BATCH]
        body = {"memories": [{"content": text, "type": "fact", "allow_duplicate": True} for _, text in part]}
        results = client.post("/v1/brain/remember:batch", json=body).raise_for_status().json()["results"]
        numbers.update({result["id"]: number for result, (number, _) in zip(results, part, strict=True)})
    wait_until_indexed(client, list(numbers))
    return numbers


def _asked(client: httpx.Client, question: str, numbers: Mapping[str, int], asked: Mapping[str, Json]) -> list[int]:
    body = {"query": question, **asked}
    memories = client.post("/v1/brain/recall", json=body).raise_for_status().json()["memories"]
    return [numbers[memory["id"]] for memory in memories[:10]]


def _ndcg(found: Sequence[int], relevant: frozenset[int]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, document in enumerate(found) if document in relevant)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))


def _rows(gains: Mapping[str, Sequence[float]]) -> Iterator[Row]:
    for side, values in gains.items():
        yield Row(f"nDCG@10, {side}", "", (sum(values) / len(values),))
    for side in ("all steps", "by default"):
        differences = [one - other for one, other in zip(gains[side], gains[BEFORE], strict=True)]
        mean = sum(differences) / len(differences)
        spread = 1.96 * math.sqrt(sum((each - mean) ** 2 for each in differences)) / len(differences)
        unit = f"[{mean - spread:.3f}, {mean + spread:.3f}]"
        yield Row(f"nDCG@10, {side} minus {BEFORE}", unit, (mean,), goal=ALLOWED_LOSS)
