"""A plan: the vault as it would be, and its report. No disk is touched."""

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


@dataclass(slots=True)
class Plan:
    """The phases edit it one after the other; each sees what those before it did."""

    scan: Scan
    draft: Draft
    now_us: int
    thresholds: Thresholds
    pages: dict[str, Arc]
    """Every page that counts, by path, as it would be."""
    shadowed: tuple[Arc, ...]
    """Other files of arcs that stand in `pages`."""
    references: set[str]
    """Paths of the files that only point at arcs."""
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def arcs(self) -> list[Arc]:
        """Arcs that have heat: the ones that are not merged into others."""
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
        """The page with these values of front matter (None removes one), its body passed through `body`, at `to`.

        `quiet`: only what time has done to it, so that its file stays as old as it was. Where it can't be changed it
        stays as it is, and a problem says so.
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
        if not (arc.dated or page.front.broken):
            # The file's time is about to change, and with it what it would tell of the page's age.
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
        """The page as it would be, where it would be."""
        self.draft.write(edited.path, text, time_of=arc.path if quiet else "")
        if edited.path != arc.path:
            self.draft.remove(arc.path)
            del self.pages[arc.path]
        self.pages[edited.path] = edited
        return edited

    def add(self, path: str, text: str) -> None:
        """A page that is made now."""
        self.draft.write(path, text)
        self.pages[path] = parse_arc(path, text, self.now_us * 1000)

    def settle(self) -> None:
        """Note the pages that count, after others came or went."""
        arcs = sorted((*self.pages.values(), *self.shadowed), key=lambda arc: in_order(arc.path))
        self.pages, self.shadowed = counting(arcs)

    def put(self, path: str, text: str | None) -> None:
        """A file of the tick's own; None for none."""
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
        """A file as it would be; None where there is none, and where it can't be read, which is told."""
        try:
            return self.draft.text(path)
        except Invalid as error:
            self.problem(path, str(error))
            return None

    def vacant(self, path: str) -> bool:
        """Whether no file is there; one that can't be read is one, and is told."""
        try:
            return self.draft.text(path) is None
        except Invalid as error:
            self.problem(path, str(error))
            return False

    def free(self, path: str) -> str:
        """The path, or one beside it that no file has."""
        stem, number, free = path.removesuffix(".md"), 1, path
        while self._is_taken(free):
            number += 1
            free = f"{stem}-{number}.md"
        return free

    def _is_taken(self, path: str) -> bool:
        try:
            return path in self.pages or self.draft.text(path) is not None
        except Invalid:
            return True

    def problem(self, path: str, reason: str, line: int = 0) -> None:
        """Something that the report tells."""
        self.problems.append(Problem(path, line, reason))

    def changes(self) -> tuple[Change, ...]:
        return self.draft.changes()


def begin(scan: Scan, read: Callable[[str], str], now_us: int, thresholds: Thresholds) -> Plan:
    """A plan that does nothing yet. `read` gives a file's text; NotFound where there is none. A page that was changed
    since the scan is planned over as it was, which its writer notices."""

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
    """The arc where its heat, status and folder are all that changed, and no line moved: it need not be read again."""
    heat, status = values.get("heat", arc.heat), values.get("status", arc.status)
    if not values.keys() <= {"heat", "status"}:
        return None
    if not (isinstance(heat, int | None) and isinstance(status, str) and arc.dated and path.endswith(f"/{arc.id}.md")):
        return None
    if arc.reference or path.startswith(REFERENCES):
        return None
    ranked = is_ranked(path, arc.id, named=arc.named)
    return arc._replace(path=path, heat=heat, status=status.lower(), ranked=ranked)
