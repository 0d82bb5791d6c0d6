"""The user's consent to read the agents' transcripts on this machine: a file in the data folder, written by its
user."""

import json
from pathlib import Path
from typing import Any, Final

FILE: Final = "transcripts.json"


def answer(data_dir: Path) -> bool | None:
    """Return the user's answer; None if they were not asked yet."""
    allowed = _read(data_dir).get("read")
    return allowed if isinstance(allowed, bool) else None


def transcripts_allowed(data_dir: Path) -> bool:
    """True if the user agreed."""
    return answer(data_dir) is True


def transcripts_folder(data_dir: Path) -> Path | None:
    """Return the folder of transcripts; None if the user has not agreed or the folder does not exist."""
    consent = _read(data_dir)
    folder = consent.get("folder") if consent.get("read") is True else None
    return Path(folder) if isinstance(folder, str) and Path(folder).is_dir() else None


def allow(data_dir: Path, folder: Path, *, read: bool) -> None:
    """Store the user's answer for a folder of transcripts. It takes effect at the next hook and the next tick."""
    data_dir.mkdir(parents=True, exist_ok=True)
    beside = data_dir / f".{FILE}"
    beside.write_text(json.dumps({"read": read, "folder": str(folder)}) + "\n", encoding="utf-8")
    beside.replace(data_dir / FILE)


def _read(data_dir: Path) -> dict[str, Any]:
    try:
        consent: Any = json.loads((data_dir / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return consent if isinstance(consent, dict) else {}
