"""Seeded choice of mutants: at most one per file, equal numbers of each kind."""

import ast
import difflib
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.kinds import KINDS, Change, changes

ROOMS = ("shared", "services", "cli")
_LEFT_OUT = re.compile(r"(^|/)(migrations|openapi/examples\.py|__pycache__)")
"""Migrations never change, and the examples of the API's description are only text."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file of the product with one change that breaks it."""

    path: str
    change: Change
    before: str
    after: str

    @property
    def id(self) -> str:
        return f"{self.path}:{self.change.line}:{self.change.kind}"

    @property
    def diff(self) -> str:
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", n=1))


def product(tree: Path) -> dict[str, str]:
    """Return the product's files: path in the tree -> text."""
    files = sorted(path for service in ROOMS for path in (tree / service).rglob("*.py"))
    named = {path.relative_to(tree).as_posix(): path for path in files}
    return {name: path.read_text(encoding="utf-8") for name, path in named.items() if not _LEFT_OUT.search(name)}


def choose(files: Mapping[str, str], seed: int, count: int) -> list[Mutant]:
    """Choose mutants; deterministic for the same files and seed, on every machine and Python version.

    Hashes are used instead of `random`, so that a change of one file changes few mutants of others. The rarest kind
    chooses first, while the files that it needs are still free.
    """
    found = {name: list(changes(text)) for name, text in files.items()}
    having = {kind: [name for name in found if any(each.kind == kind for each in found[name])] for kind in KINDS}
    waiting = {
        kind: sorted(having[kind], key=lambda name, kind=kind: _drawn(seed, kind, name))  # type: ignore[misc]
        for kind in sorted(KINDS, key=lambda kind: len(having[kind]))
    }
    chosen: dict[str, Mutant] = {}
    while any(waiting.values()) and len(chosen) < count:
        for kind, names in waiting.items():
            while names and len(chosen) < count:
                name = names.pop(0)
                mutant = None if name in chosen else _one(name, files[name], found[name], kind, seed)
                if mutant:
                    chosen[name] = mutant
                    break
    return [chosen[name] for name in sorted(chosen)]


def _one(name: str, text: str, found: list[Change], kind: str, seed: int) -> Mutant | None:
    """Return the first change of this kind whose result is valid Python and a different program."""
    here = [each for each in found if each.kind == kind]
    for change in sorted(
        here, key=lambda each: (_drawn(seed, name, _way(each)), _drawn(seed, name, each.start, each.text))
    ):
        after = applied(text, change)
        try:
            if ast.dump(ast.parse(after)) != ast.dump(ast.parse(text)):
                return Mutant(name, change, text, after)
        except SyntaxError:
            continue
    return None


def _way(change: Change) -> str:
    """Return the way of changing: by it the many negated conditions do not crowd out a dropped `.where()`."""
    return change.text if not change.text or change.text.isidentifier() else "rewritten"


def applied(text: str, change: Change) -> str:
    """Return the text with the change applied."""
    source = text.encode()
    return (source[: change.start] + change.text.encode() + source[change.end :]).decode()


def _drawn(*what: object) -> bytes:
    return hashlib.sha256("|".join(map(str, what)).encode()).digest()
