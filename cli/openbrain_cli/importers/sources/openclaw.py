"""An OpenClaw workspace: USER.md, MEMORY.md, daily files, DREAMS.md. OpenClaw's instructions are not memories."""

from collections.abc import Iterator
from pathlib import Path

from openbrain.domain.memory import MemoryType
from openbrain_cli.importers.found_memory import Scan, line
from openbrain_cli.importers.sources.agent_files import AgentFolder, FileRule, day_of, scan

_RULES = (
    FileRule(name="USER", type=MemoryType.FACT, fixed=True, tags=("user",)),
    FileRule(name="(?i:memory)", type=MemoryType.FACT),
    FileRule(name="(?i:dreams)", type=MemoryType.OBSERVATION, fixed=True, tags=("dreams",), confidence=0.5),
    FileRule(name="memory/.+", type=MemoryType.OBSERVATION, tags=("daily notes",)),
)
_OWN = ("SOUL.md", "IDENTITY.md", "HEARTBEAT.md", "DREAMS.md")
_BESIDE = ("USER.md", "MEMORY.md", "memory")


def fits(folder: Path) -> bool:
    """True if it looks like a workspace: it has a file that only OpenClaw keeps, or daily files in `memory`."""
    if any((folder / name).is_file() for name in _OWN) and any((folder / name).exists() for name in _BESIDE):
        return True
    return any(day_of(path.stem)[0] for path in (folder / "memory").glob("*.md"))


def root_of(path: Path) -> Path | None:
    """The workspace that contains a file or a memory folder."""
    near = [item for item in (path, *path.parents[:3]) if item.parent.name != "projects"]
    return next((item for item in near if fits(item)), None)


def workspaces(home: Path) -> Iterator[Path]:
    for path in sorted((home / ".openclaw").glob("workspace*")):
        if path.is_dir():
            yield path


def workspace(folder: Path, only: Path | None = None) -> Iterator[Scan]:
    """Read the files of a workspace. The suffix of the folder's name, if any, is the agent."""
    agent = folder.name.removeprefix("workspace-") if folder.name.startswith("workspace-") else ""
    location = f"openclaw/{line(folder.name)}/"
    yield from scan(
        AgentFolder(
            path=folder, client="openclaw", portable=location, rules=_RULES, agent=agent, below=("memory",), only=only
        )
    )
