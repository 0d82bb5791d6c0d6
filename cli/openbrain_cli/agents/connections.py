"""Records of connected clients: one folder for each connection, with its key and backups of the changed files.

`<data folder>/agents/<name>/` holds `connection.json`, `key` (mode 0600) and, in `before/`, each edited file as it was.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openbrain.domain.errors import SetupError
from openbrain_cli.agents.config_edits import Edit, as_record, from_record

RECORD: Final = "connection.json"
KEY: Final = "key"


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a client, before and after the change. `after` is b'' if the file is removed."""

    edit: Edit
    before: bytes
    after: bytes
    original: bytes
    """The file's content before the client was connected."""

    @property
    def path(self) -> Path:
        return Path(self.edit.path)


@dataclass(frozen=True, slots=True)
class Connection:
    """A folder of `<data folder>/agents`."""

    folder: Path

    @property
    def key_file(self) -> Path:
        return self.folder / KEY

    def record(self) -> Mapping[str, Any] | None:
        """The stored record, or None if the client is not connected."""
        try:
            parsed = json.loads((self.folder / RECORD).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            parsed = None
        if not isinstance(parsed, dict):
            raise SetupError(f"{self.folder / RECORD} can't be read: remove {self.folder}, then connect again")
        return parsed

    def changes(self, edits: Sequence[Edit]) -> tuple[Change, ...]:
        """File changes that apply these edits; they replace the edits of an earlier connection."""
        removals = {change.path: change for change in self.removals()}
        made = []
        for edit in edits:
            path = Path(edit.path)
            known = removals.pop(path, None)
            before = _read(path)
            original = before if known is None else known.after
            after = edit.added(original)
            made.append(Change(edit, before, after, original))
        return (*made, *removals.values())

    def keep(self, changes: Sequence[Change], facts: Mapping[str, Any]) -> None:
        """Record what `write` is about to do, so that it can be undone if the command is killed."""
        before = self.folder / "before"
        before.mkdir(parents=True, exist_ok=True)
        files = []
        for number, change in enumerate(change for change in changes if change.after != change.original):
            _write(before / str(number), change.original)
            files.append({**as_record(change.edit), "written": _digest(change.after), "existed": bool(change.original)})
        _write(self.folder / RECORD, json.dumps({**facts, "files": files}, indent=2).encode())

    def forget(self) -> None:
        """Remove the connection's folder, and up to two folders above it that are empty."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for above in list(self.folder.parents)[:2]:
            if not above.is_dir() or any(above.iterdir()):
                return
            above.rmdir()

    def removals(self) -> tuple[Change, ...]:
        kept = self.record()
        made = []
        for number, record in enumerate([] if kept is None else kept["files"]):
            edit = from_record(record)
            now, original = _read(Path(edit.path)), _read(self.folder / "before" / str(number))
            untouched = _digest(now) == record["written"]
            after = original if untouched else edit.removed(now, original) if now else b""
            made.append(Change(edit, now, after, after))
        return tuple(made)


def write(changes: Sequence[Change]) -> None:
    """Write each file atomically, and remove files that become empty."""
    for change in changes:
        if change.after == change.before:
            continue
        if change.after:
            _write(change.path, change.after)
        else:
            _remove(change.path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise SetupError(f"{path} can't be read ({error.strerror})") from None


def _write(path: Path, content: bytes) -> None:
    """Write to a temporary file and rename it; keep the file's mode, and follow a symbolic link."""
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.openbrain")
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
    except OSError as error:
        raise SetupError(f"{path} can't be written ({error.strerror})") from None


def _remove(path: Path) -> None:
    """Remove the file, and its folder if that is hidden (such as `.cursor`) and now empty."""
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(".") and not any(path.parent.iterdir()):
        path.parent.rmdir()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
