"""A plan: the vault as it would be after the changes, with counts and problems for the report. Nothing is written."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from openbrain.domain.errors import Invalid
from openbrain.domain.times import to_iso
from openbrain.vault.files.changes import Change
from openbrain.vault.files.draft import Draft
from openbrain.vault.front_matter import document
from openbrain.vault.front_matter.rendering import Value
from openbrain.vault.pages.arc_parsing import REFERENCES, is_ranked, parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.pages.index import Scan, counting, in_order
from openbrain.vault.thresholds import Thresholds
from openbrain.vault.values import Problem

UNREADABLE = 20
"""Number of names that can't be read after which no further one is tried for a page."""


@dataclass(slots=True)
class Plan:
    """Edited by the phases in sequence; each sees the edits of those before it."""

    scan: Scan
    draft: Draft
    now_us: int
    thresholds: Thresholds
    pages: dict[str, Arc]
    """Every page that counts, by path, in its planned state."""
    shadowed: tuple[Arc, ...]
    """Further files with the id of an arc in `pages`."""
    references: set[str]
    """Paths of the files that only refer to arcs."""
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def arcs(self) -> list[Arc]:
        """Arcs that have heat: those that are not merged into others."""
        return [arc for arc in self.pages.values() if arc.ranked and not arc.merged]

    def edit(
        self,
        arc: Arc,
        values: Mapping[str, Value],
        *,
        body: Callable[[str], str] | None = None,
        to: str = "",
        quiet: bool = False,
    ) -> Arc:
        """Set values of a page's front matter (None removes one), pass its body through `body`, and move it to `to`.

        `quiet`: the change results only from the passing of time, so the file keeps its mtime. If the page can't be
        changed it stays as it is, and a problem is reported.
        """
        text = self.text(arc.path)
        if text is None:
            return arc
        path = to or arc.path
        if body is None and arc.dated and arc.writable and (edited := _as_before(arc, values, path)) is not None:
            quick = document.with_plain_values(text, values) if values else text
            if quick is not None:
                return self._put(arc, edited, quick, quiet=quiet)
        page = document.read(text, arc.path)
        if not (arc.dated or page.front.broken) and page.front.get("created") is None:
            # So far only the file's mtime shows the page's age, and it is about to change: record the day.
            values = {"created": to_iso(arc.created_us)[:10], **values}
            self.counts["created_backfilled"] += 1
        try:
            front = page.front if page.front.broken and not values else page.front.with_values(values)
            new = replace(page, front=front, body=page.body if body is None else body(page.body)).text()
        except Invalid as error:
            self.problem(arc.path, str(error))
            return arc
        kept = None
        if body is None and len(page.front.lines) == len(front.lines):
            kept = _as_before(arc, values, path)
        return self._put(arc, kept or parse_arc(path, new, arc.created_us * 1000), new, quiet=quiet)

    def _put(self, arc: Arc, edited: Arc, text: str, *, quiet: bool) -> Arc:
        """Plan the page's new text, and its move if the path differs."""
        self.draft.write(edited.path, text, time_of=arc.path if quiet else "")
        if edited.path != arc.path:
            self.draft.remove(arc.path)
            del self.pages[arc.path]
        self.pages[edited.path] = edited
        return edited

    def add(self, path: str, text: str) -> None:
        """Plan a new page."""
        self.draft.write(path, text)
        self.pages[path] = parse_arc(path, text, self.now_us * 1000)

    def settle(self) -> None:
        """Determine again which pages count, after pages were added or moved."""
        arcs = sorted((*self.pages.values(), *self.shadowed), key=lambda arc: in_order(arc.path))
        self.pages, self.shadowed = counting(arcs)

    def put(self, path: str, text: str | None) -> None:
        """Plan the text of a file that the tick generates; None removes it."""
        try:
            if self.draft.text(path) == text:
                return
            if text is None:
                self.draft.remove(path)
            else:
                self.draft.write(path, text)
        except Invalid as error:
            self.problem(path, str(error))

    def text(self, path: str) -> str | None:
        """A file's planned text; None if there is no file, or if it can't be read, which is reported."""
        try:
            return self.draft.text(path)
        except Invalid as error:
            self.problem(path, str(error))
            return None

    def vacant(self, path: str) -> bool:
        """True if there is no file at this path. A file that can't be read counts as one and is reported."""
        try:
            return self.draft.text(path) is None
        except Invalid as error:
            self.problem(path, str(error))
            return False

    def free(self, path: str) -> str:
        """The path if it is free; otherwise the first free one with a number appended. Invalid if none can be used, as
        in a folder that can't be opened."""
        stem, number, free, refused = path.removesuffix(".md"), 1, path, list[Invalid]()
        while True:
            try:
                if free not in self.pages and self.draft.text(free) is None:
                    return free
            except Invalid as error:
                refused.append(error)
                if len(refused) == UNREADABLE:
                    raise refused[0] from None
            number += 1
            free = f"{stem}-{number}.md"

    def problem(self, path: str, reason: str, line: int = 0) -> None:
        """Add a problem to the report."""
        self.problems.append(Problem(path, line, reason))

    def changes(self) -> tuple[Change, ...]:
        return self.draft.changes()


def begin(scan: Scan, read: Callable[[str], str], now_us: int, thresholds: Thresholds) -> Plan:
    """An empty plan. `read` returns a file's text, or raises NotFound. A page changed since the scan is planned by its
    old text; the writer detects that."""

    def known(path: str) -> str:
        text = scan.texts.get(path)
        return read(path) if text is None else text

    return Plan(
        scan,
        Draft(known, scan.digests),
        now_us,
        thresholds,
        pages=dict(scan.pages),
        shadowed=scan.shadowed,
        references=set(scan.references),
        problems=list(scan.problems),
    )


def _as_before(arc: Arc, values: Mapping[str, Value], path: str) -> Arc | None:
    """The edited arc if only its heat, status and folder changed, so that the page need not be parsed again; else
    None."""
    heat, status = values.get("heat", arc.heat), values.get("status", arc.status)
    if not values.keys() <= {"heat", "status"}:
        return None
    if not (isinstance(heat, int | None) and isinstance(status, str) and arc.dated and path.endswith(f"/{arc.id}.md")):
        return None
    if arc.reference or path.startswith(REFERENCES):
        return None
    ranked = is_ranked(path, arc.id, named=arc.named)
    return arc._replace(path=path, heat=heat, status=status.lower(), ranked=ranked)
