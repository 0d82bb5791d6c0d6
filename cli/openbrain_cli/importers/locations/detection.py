"""Detection of a path's kind from its structure: the first match in a table wins."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from openbrain.domain.errors import Invalid
from openbrain_cli.importers.found_memory import Note, Scan
from openbrain_cli.importers.locations.source import Client, Wanted
from openbrain_cli.importers.projects import is_checkout
from openbrain_cli.importers.records import scans
from openbrain_cli.importers.sources import chatgpt, claude_memory, codex, hermes, note_kinds, openclaw
from openbrain_cli.importers.sources.claude_home import OWN, claude_home, memories_of, person
from openbrain_cli.importers.sources.instructions import DIALECTS
from openbrain_cli.importers.sources.memory_folders import is_memory_folder, memory_folder
from openbrain_cli.importers.sources.notes import ENDINGS
from openbrain_cli.importers.sources.project_tree import client_of, has_instructions, named_file, tree

Scans = Iterable[Scan]


@dataclass(frozen=True, slots=True)
class FolderKind:
    """A kind of folder: how to recognise and how to read it."""

    client: Client
    fits: Callable[[Path], bool]
    scans: Callable[[Path, Wanted], Scans]


def _inside(fits: Callable[[Path], bool]) -> Callable[[Path], bool]:
    return lambda path: fits(path / MEMORIES)


_CLAUDE = Client.CLAUDE
MEMORIES = "memories"
"""Subfolder of Codex' and Hermes' own folders that contains memories."""

FOLDERS = (
    FolderKind(
        _CLAUDE,
        lambda path: (path / "projects").is_dir() and (path.name == ".claude" or any(path.glob("projects/*/memory"))),
        lambda path, wanted: claude_home(path, wanted.homes.home, wanted.homes.memory_override),
    ),
    FolderKind(
        _CLAUDE,
        lambda path: path.name == "projects" and any(path.glob("*/memory")),
        lambda path, wanted: memories_of(path, wanted.homes.home),
    ),
    FolderKind(
        _CLAUDE,
        lambda path: path.parent.name == "projects" and (path / "memory").is_dir(),
        lambda path, wanted: claude_memory.scan(memory_folder(path / "memory", wanted.homes.home)),
    ),
    FolderKind(Client.CODEX, codex.fits, lambda path, _: codex.memories(path)),
    FolderKind(Client.CODEX, _inside(codex.fits), lambda path, _: codex.memories(path / MEMORIES)),
    FolderKind(Client.HERMES, hermes.fits, lambda path, _: hermes.memories(path)),
    FolderKind(Client.HERMES, _inside(hermes.fits), lambda path, _: hermes.memories(path / MEMORIES)),
    FolderKind(Client.OPENCLAW, openclaw.fits, lambda path, _: openclaw.workspace(path)),
    FolderKind(Client.OBSIDIAN, note_kinds.is_vault, lambda path, wanted: note_kinds.obsidian(path, wanted.homes.home)),
    FolderKind(
        _CLAUDE,
        is_memory_folder,
        lambda path, wanted: claude_memory.scan(memory_folder(path, wanted.homes.home)),
    ),
    FolderKind(Client.CHATGPT, lambda path: bool(chatgpt.files(path)), lambda path, _: chatgpt.scan(path)),
    FolderKind(
        Client.BASIC_MEMORY,
        note_kinds.is_basic_memory,
        lambda path, wanted: note_kinds.basic_memory(path, wanted.homes.home),
    ),
    FolderKind(
        Client.AUTO,
        lambda path: is_checkout(path) or has_instructions(path),
        lambda path, wanted: tree(path, wanted.homes.home),
    ),
    FolderKind(
        Client.MARKDOWN, note_kinds.has_pages, lambda path, wanted: note_kinds.markdown(path, wanted.homes.home)
    ),
)
"""In the order in which they are tried. `AUTO` is a project, which may have files of several clients."""

_RECORDS = {Client.MEM0, Client.HINDSIGHT, Client.CSV, Client.NDJSON}
_SEVERAL = {Client.AUTO, _CLAUDE, *map(Client, DIALECTS)}
"""Clients whose files are found together with those of others."""


def scans_of(path: Path, wanted: Wanted) -> Scans:
    """Read a file or folder as its detected kind, or as the kind that the user named."""
    return _folder(path, wanted) if path.is_dir() else _file(path, wanted)


def _folder(path: Path, wanted: Wanted) -> Scans:
    if wanted.client in _RECORDS:
        files = sorted(item for item in path.iterdir() if item.suffix.lower() in scans.FILES)
        return (scan for file in files for scan in _records(file, wanted))
    if wanted.client in _SEVERAL:
        kinds = [kind for kind in FOLDERS if wanted.client is Client.AUTO or kind.client in {_CLAUDE, Client.AUTO}]
        chosen = next((kind for kind in kinds if kind.fits(path)), None)
    else:
        kinds = [kind for kind in FOLDERS if kind.client is wanted.client]
        chosen = next((kind for kind in kinds if kind.fits(path)), kinds[0])
    return chosen.scans(path, wanted) if chosen else tree(path, wanted.homes.home)


def _file(path: Path, wanted: Wanted) -> Scans:
    if not path.is_file():  # a pipe would be waited for
        return [Scan(notes=(Note(str(path), "is not a file"),))]
    name = path.suffix.lower()
    if name in scans.FILES or wanted.client in _RECORDS | {Client.CHATGPT}:
        return _records(path, wanted)
    if wanted.client in DIALECTS and wanted.client is not _CLAUDE:
        return named_file(path, wanted.homes.home, wanted.client)
    return _page(path, wanted)


def _records(path: Path, wanted: Wanted) -> Scans:
    kind = wanted.client if wanted.client in _RECORDS | {Client.CHATGPT} else scans.kind_of(path)
    if kind == scans.OWN_FORMAT:
        raise Invalid("PATHS", f"{path} is an export of OpenBrain: import it alone, without other paths")
    if kind == Client.CHATGPT:
        return chatgpt.scan(path)
    return scans.scan(path, wanted.homes.home, kind, wanted.columns)


def _page(path: Path, wanted: Wanted) -> Scans:
    homes, above = wanted.homes, path.parent
    workspace = openclaw.root_of(above)
    memory = next((parent for parent in path.parents if is_memory_folder(parent)), None)
    own = next((item for item in OWN if path.is_relative_to(homes.home / item.folder)), None)
    vault = note_kinds.vault_of(path)
    if codex.fits(above) and path.name in codex.FILES:
        return codex.memories(above, path)
    if hermes.fits(above) and path.name in hermes.FILES:
        return hermes.memories(above, path)
    if workspace is not None and not client_of(path):
        return openclaw.workspace(workspace, path)
    if memory is not None and path.suffix.lower() == ".md":
        return claude_memory.scan(memory_folder(memory, homes.home, only=path))
    if path.is_relative_to(homes.claude):
        return person(homes.claude, homes.home, "claude", "user/", [path], whole=False)
    if own is not None:
        return person(homes.home / own.folder, homes.home, own.client, f"{own.folder}/", [path], whole=False)
    if client := client_of(path):
        return named_file(path, homes.home, client)
    if path.suffix.lower() not in ENDINGS:
        reason = "is a ZIP archive: unpack it, and name the folder" if path.suffix.lower() == ".zip" else "is no notes"
        return [Scan(notes=(Note(str(path), reason),))]
    if vault is not None:
        return note_kinds.obsidian(vault, homes.home, path)
    notes = note_kinds.basic_memory if note_kinds.is_basic_page(path) else note_kinds.markdown
    return notes(above, homes.home, path)
