"""recall --from-file: many questions, in the largest batches that a request may have."""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import typer

from openbrain.contract.brain.recall import Recalled
from openbrain.domain import limits
from openbrain.domain.errors import Invalid
from openbrain.domain.tasks import chunks
from openbrain_cli.memories.display import NOTHING, NOTHING_CLOSE, rendering
from openbrain_cli.options import Speaking
from openbrain_cli.output import as_json_line, bar, plain, say
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.brain.recall import RefusedQuestion

FILE_BYTES = 64 * 1024 * 1024
Question = Mapping[str, Any]


def recall_all(path: Path, to: Speaking, options: dict[str, Any], *, json: bool) -> None:
    """Print what each question of the file finds. Exit with code 1 if one was refused."""
    questions = read(path)
    refused = to.ask(lambda brain: _ask(brain, questions, options, json=json))
    if refused:
        say(f"{refused} of {len(questions)} questions were refused")
        raise typer.Exit(exit_codes.REFUSED)


def read(path: Path) -> list[Question]:
    """Read a file with one question per line; skip empty lines. Raise `Invalid` with the line that is no question."""
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise Invalid("--from-file", f"can't be read: {error.strerror}") from None
    if len(raw) > FILE_BYTES:
        raise Invalid("--from-file", f"must be at most {FILE_BYTES} bytes: split it")
    lines = raw.removeprefix(b"\xef\xbb\xbf").splitlines()
    return [_question(line, number) for number, line in enumerate(lines, 1) if line.strip()]


def _question(line: bytes, number: int) -> Question:
    try:
        if line.lstrip().startswith(b"{"):
            body: Question = orjson.loads(line)
            return body
        return {"query": line.decode().strip()}
    except ValueError:
        raise Invalid(f"line {number}", "is neither a question in UTF-8 nor a JSON object") from None


async def _ask(brain: "OpenBrain", questions: Sequence[Question], options: dict[str, Any], *, json: bool) -> int:
    """Ask the questions, and return how many were refused."""
    refused = 0
    with bar(hidden=sys.stdout.isatty()) as shown:
        task = shown.add_task("asking", total=len(questions))
        async for question, result in _answers(brain, questions, options):
            (_print_json if json else _print)(question, result)
            refused += not isinstance(result, Recalled)
            shown.advance(task)
    return refused


async def _answers(
    brain: "OpenBrain", questions: Sequence[Question], options: dict[str, Any]
) -> "AsyncIterator[tuple[Question, Recalled | RefusedQuestion]]":
    for part in chunks(questions, limits.BATCH_QUESTIONS):
        answer = await brain.recall_batch(part, **options)
        for item in zip(part, answer.results, strict=True):
            yield item


def _print_json(question: Question, result: "Recalled | RefusedQuestion") -> None:
    as_json_line({"query": question.get("query"), **result.model_dump(mode="json", exclude_none=True)})


def _print(question: Question, result: "Recalled | RefusedQuestion") -> None:
    print(plain(f"# {question.get('query')}"))
    if not isinstance(result, Recalled):
        print(plain(f"refused: {result.message}\n"))
        return
    if result.memories:
        rendering.listed(result.memories, scored=True, folded=result.folded)
    else:
        print(f"{NOTHING_CLOSE if result.nothing_close else NOTHING}\n")
    if result.around:
        rendering.around(result.around)
    if result.explained:
        rendering.explained(result.memories, result.explained)
    if result.degraded:
        print(f"note: {' and '.join(result.degraded)} did not answer\n")
