"""A vault in a folder, and its deterministic ticks at times that a test chooses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from openbrain.domain.times import from_datetime
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages import journal
from openbrain.vault.pages.alarm import Alarm
from openbrain.vault.pages.index import Index, Scan
from openbrain.vault.thresholds import SPEC, Thresholds
from openbrain_tick.plan.deterministic import Published, publish, tidy
from openbrain_tick.plan.plan import Plan, begin

NOW = from_datetime(datetime(2026, 11, 22, 12, tzinfo=UTC))
HOUR = 3_600_000_000
DAY = 24 * HOUR


def page(
    arc_id: str = "",
    body: str = "",
    *,
    created: str = "2026-11-22T10:00:00+00:00",
    status: str = "complete",
    region: str = "left-hemisphere",
    sessions: int = 1,
    tools: int = 0,
    joy: int = 0,
    **more: str,
) -> str:
    """Return an arc's text as cluster writes it; `more` are further lines of its front matter."""
    lines = ["---"]
    lines += [f"cluster_id: {arc_id}", f"title: The arc {arc_id}"] if arc_id else []
    lines += [f"region: {region}", f"status: {status}", "heat: 0", "source_sessions:"]
    lines += [f"  - session-{number}" for number in range(sessions)]
    lines += [f"created: {created}", f"signals: {{errors: 0, joy: {joy}, tools: {tools}}}", "edges: []"]
    lines += [f"{key}: {value}" for key, value in more.items()]
    return "\n".join([*lines, "---", "", f"# {arc_id}", "", body, ""])


def signal(content: str, severity: str = "critical", source: str = "auth-broker", **more: str) -> str:
    """Return a @signal block."""
    attrs = "".join(f' {key}="{value}"' for key, value in more.items())
    return f"<!-- @signal severity={severity} source={source}{attrs} -->\n{content}\n<!-- @/signal -->\n"


@dataclass
class Vault:
    """`root` is created; the index is kept between ticks, as in a running process."""

    root: Path
    index: Index = field(default_factory=Index)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.folder = Folder(self.root)

    def write(self, path: str, text: str) -> None:
        """Write a file, as a person would."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())

    def read(self, path: str) -> str:
        """Return a file's text."""
        return (self.root / path).read_bytes().decode()

    def tree(self) -> dict[str, bytes]:
        """Return every file with its bytes, `.openbrain` left out."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".openbrain" not in path.parts
        }

    def scan(self) -> Scan:
        """Scan with a new, empty index."""
        return Index().scan(self.folder)

    def plan(
        self,
        now: int = NOW,
        thresholds: Thresholds = SPEC,
        *,
        ended: Mapping[str, str] | None = None,
        probes: Mapping[str, bool] | None = None,
        alarm: Alarm | None = None,
    ) -> tuple[Plan, Published]:
        """Return what a tick would do; nothing is written."""
        plan = begin(self.index.scan(self.folder), self.folder.read, now, thresholds)
        tidy(plan, ended or {})
        return plan, publish(plan, probes or {}, alarm)

    def tick(
        self,
        now: int = NOW,
        thresholds: Thresholds = SPEC,
        *,
        ended: Mapping[str, str] | None = None,
        probes: Mapping[str, bool] | None = None,
        alarm: Alarm | None = None,
        at_step: Callable[[str], None] = lambda _: None,
    ) -> tuple[Plan, Published]:
        """Do a tick and write its changes. `at_step`: called before each step of the journal."""
        journal.recover(self.folder)
        plan, kept = self.plan(now, thresholds, ended=ended, probes=probes, alarm=alarm)
        changes, pages = plan.changes(), plan.pages
        laid = journal.apply(self.folder, changes, at_step=at_step).laid
        self.index.written(
            (pages[each.path], laid[each.path], each.digest) for each in changes if each.digest and each.path in pages
        )
        return plan, kept

    def body(self, name: str) -> str:
        """Return the body of a feed file, as the client reads it."""
        return self.read(f"brain-feed/{name}").split("---\n", 2)[2].strip()


def heats(plan: Plan) -> Mapping[str, int | None]:
    """Return the heat of each arc."""
    return {arc.id: arc.heat for arc in plan.arcs()}
