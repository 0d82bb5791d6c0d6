"""One sample folder for each kind of file that `openbrain import` knows, laid out as on a user's machine."""

from dataclasses import dataclass
from pathlib import Path

from openbrain_cli.importers.locations.scanning import Homes
from tests.support.cli.memory_samples import copy_samples

SAMPLES = Path(__file__).parents[2] / "samples" / "imports"


@dataclass(frozen=True)
class Sample:
    """A sample folder, its client, and an edit that changes one section of one file."""

    client: str
    path: str
    """The path that a user would pass, below the home folder."""
    file: str
    """The edited file, below `path`; '' if `path` is the file."""
    before: str
    after: str
    sections: int
    files: int

    def edited(self, home: Path) -> Path:
        """Return the path of the edited file."""
        return home / self.path / self.file if self.file else home / self.path


ALL = (
    Sample("codex", ".codex/memories", "MEMORY.md", "a later stamp", "an earlier stamp", 5, 2),
    Sample("cursor", "shop", ".cursor/rules/api.mdc", "Errors are values", "Errors are plain values", 8, 6),
    Sample("gemini", "reader", "GEMINI.md", "--watch=false", "--watch=no", 5, 3),
    Sample("windsurf", "site", ".windsurf/rules/tone.md", "what to do next", "what comes next", 3, 3),
    Sample("copilot", "service", ".github/copilot-instructions.md", "./mvnw -q", "./mvnw", 3, 2),
    Sample("openclaw", "workspace", "memory/2026-08-14.md", "loses its lease", "forgets its lease", 9, 6),
    Sample("hermes", ".hermes", "memories/MEMORY.md", "both need the VPN", "neither needs the VPN", 5, 2),
    Sample("markdown", "runbooks", "index.md", "After 20 minutes", "After 30 minutes", 9, 5),
    Sample("obsidian", "vault", "Projects/Harbour.md", "Forty thousand", "Fifty thousand", 5, 3),
    Sample("basic-memory", "notes", "auth-design.md", "fifteen minutes", "ten minutes", 4, 2),
    Sample("chatgpt", "export", "conversations.json", "About a third less", "About a quarter less", 7, 3),
    Sample("mem0", "memories.json", "", "senior engineer", "staff engineer", 2, 1),
    Sample("hindsight", "memories.json", "", "platform team", "storage team", 2, 1),
    Sample("csv", "decisions.csv", "", "holds the tenant", "holds the tenant's id", 3, 1),
    Sample("ndjson", "notes.ndjson", "", "five years", "six years", 3, 1),
)


def lay_out(sample: Sample, home: Path) -> Path:
    """Copy the sample into a home folder; return the path that a user would pass."""
    copy_samples(SAMPLES / sample.client, home)
    return home / sample.path


def homes(home: Path) -> Homes:
    """Return homes whose current folder is the home folder."""
    return Homes(home=home, claude=home / ".claude", here=home)
