"""The project of a folder, and portable names of paths, which are the same on another machine."""

import json
import os
import re
from collections.abc import Iterator
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from openbrain.domain import limits
from openbrain_cli.importers.found_memory import line

_SOMEONES_HOME = re.compile(r"(?:[A-Za-z]-)?-(?:home|Users)-[^-]+(?=-|$)")
_CUSTOMARY = ("src", "code", "projects", "repos", "work", "dev", "git", "workspace", "workspaces", "Documents")
_SESSION_FILES = 20
_SESSION_BYTES = 256 * 1024
_SCP_LIKE = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?!//)(?P<path>.+)")


@dataclass(frozen=True, slots=True)
class Repository:
    """A git checkout. Worktrees are the same repository as their main checkout."""

    root: Path
    main_root: Path
    address: str
    """host/owner/name of its origin; '' if it has none."""


def encoded(path: str) -> str:
    """Claude Code's name for the folder of a project."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def portable_folder(folder_name: str, home: Path) -> str:
    """An encoded name without the home folder: `-home-ada-src-app` -> `~-src-app`."""
    own = encoded(str(home))
    if folder_name == own or folder_name.startswith(f"{own}-"):
        return f"~{folder_name[len(own) :]}"
    return _SOMEONES_HOME.sub("~", folder_name, count=1)


def is_checkout(path: Path) -> bool:
    """True if the folder is the root of a repository."""
    return (path / ".git").exists()


def portable_place(path: Path, home: Path) -> str:
    """A path's portable name: relative to the repository's address, else to the home folder, else the full path."""
    repository = repository_of(path)
    if repository is not None and repository.address:
        return line("/".join((repository.address, *path.resolve().relative_to(repository.root).parts)))
    real, own = path.resolve(), home.resolve()
    return line(f"~/{real.relative_to(own).as_posix()}" if real.is_relative_to(own) else real.as_posix())


def project_at(path: Path) -> str:
    """The project of a path: the name of its repository's folder, else its own name."""
    repository = repository_of(path)
    return _name(str(path if repository is None else repository.main_root))


def project_of_folder(folder: Path, home: Path) -> str:
    """The project of `projects/<encoded>`: from its sessions, else from a folder on this disk, else from the name."""
    where = _from_sessions(folder) or _from_disk(folder.name)
    if where is not None:
        return project_at(where)
    parts = portable_folder(folder.name, home).strip("~-").split("-")
    while len(parts) > 1 and parts[0] in _CUSTOMARY:
        parts = parts[1:]
    return _name("-".join(parts))


def _name(path: str) -> str:
    return line(path.replace("\\", "/").rstrip("/").rpartition("/")[2])[: limits.PROJECT_CHARS].strip()


def _from_sessions(folder: Path) -> Path | None:
    """The folder in which the sessions ran whose encoded name is the name of `folder`."""
    for cwd in _working_folders(folder):
        for parent in (cwd, *cwd.parents):
            if encoded(str(parent)) == folder.name:
                return parent
    return None


def _working_folders(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*.jsonl"))[:_SESSION_FILES]:
        try:
            with path.open("rb") as file:
                lines = file.read(_SESSION_BYTES).split(b"\n")
        except OSError:
            continue
        for text in lines:
            if b'"cwd"' not in text:
                continue
            try:
                entry = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and isinstance(entry.get("cwd"), str):
                yield Path(entry["cwd"])


def _from_disk(name: str, at: Path = Path("/")) -> Path | None:
    """The folder on this machine whose encoded name is `name`."""
    prefix = encoded(str(at)).rstrip("-")
    if not name.startswith("-"):
        return None
    try:
        with os.scandir(at) as entries:
            folders = sorted(entry.name for entry in entries if _is_folder(entry))
    except OSError:
        return None
    for folder in folders:
        reached = f"{prefix}-{encoded(folder)}"
        if reached == name:
            return at / folder
        if name.startswith(f"{reached}-") and (path := _from_disk(name, at / folder)) is not None:
            return path
    return None


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def repository_of(path: Path) -> Repository | None:
    """The checkout that contains a path."""
    real = path.resolve()
    for folder in (real, *real.parents):
        marker = folder / ".git"
        if marker.is_dir():
            return Repository(folder, folder, _address(marker))
        if marker.is_file():
            common = _common(marker)
            main = common.parent if common.name == ".git" else folder
            return Repository(folder, main, _address(common))
    return None


def _common(marker: Path) -> Path:
    """The .git folder to which a worktree's or submodule's .git file refers."""
    try:
        own = marker.parent / marker.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        shared = own / "commondir"
        return (own / shared.read_text(encoding="utf-8").strip()).resolve() if shared.is_file() else own.resolve()
    except (OSError, UnicodeDecodeError):
        return marker


def _address(git: Path) -> str:
    """host/owner/name, without a login."""
    config = ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        config.read_string((git / "config").read_text(encoding="utf-8"))
        url = config.get('remote "origin"', "url", fallback=None) or ""
    except (OSError, UnicodeDecodeError, Error):
        return ""
    scp = _SCP_LIKE.fullmatch(url)
    try:
        host, path = (scp["host"], scp["path"]) if scp else (urlsplit(url).hostname or "", urlsplit(url).path)
    except ValueError:
        return ""
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}" if host and path.strip("/") else ""
