"""Whether this machine's agents' transcripts may be read: a file in the data folder, which only its user writes."""

import json
from pathlib import Path
from typing import Any, Final

FILE: Final = "transcripts.json"


def answer(data_dir: Path) -> bool | None:
    """What the user said; None where they were not asked yet."""
    try:
        found: Any = json.loads((data_dir / FILE).read_bytes())
    except (OSError, ValueError):
        return None
    said = found.get("read") if isinstance(found, dict) else None
    return said if isinstance(said, bool) else None


def transcripts_allowed(data_dir: Path) -> bool:
    """Off until the user said yes."""
    return answer(data_dir) is True


def allow(data_dir: Path, *, read: bool) -> None:
    """Write down what the user says; it counts from the next hook and the next tick on."""
    data_dir.mkdir(parents=True, exist_ok=True)
    beside = data_dir / f".{FILE}"
    beside.write_text(json.dumps({"read": read}) + "\n", encoding="utf-8")
    beside.replace(data_dir / FILE)
