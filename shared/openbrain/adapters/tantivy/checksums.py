"""Tantivy's checksums, which it writes at the end of each file and does not verify on opening."""

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_MAGIC = 1337
_END = struct.Struct("<II")
_READ = 1 << 20


def first_damaged(folder: Path) -> str:
    """Return the name of a damaged file of a committed segment; '' if all are intact. Files that a kill left of
    uncommitted segments are ignored."""
    try:
        about = json.loads((folder / "meta.json").read_bytes())
        segments = [(item["segment_id"].replace("-", ""), item.get("deletes")) for item in about["segments"]]
    except FileNotFoundError:
        return "" if not any(folder.glob("*.store")) else "meta.json"
    except (ValueError, KeyError, TypeError, AttributeError):
        return "meta.json"
    return next((path.name for path in _files(folder, segments) if not _sound(path)), "")


def _files(folder: Path, segments: list[tuple[str, dict[str, int] | None]]) -> Iterator[Path]:
    for name, deletes in segments:
        for path in sorted(folder.glob(f"{name}.*")):
            if path.suffix != ".del":
                yield path
        if deletes:
            yield folder / f"{name}.{deletes['opstamp']}.del"


def _sound(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            file.seek(max(0, size - _END.size))
            length, magic = _END.unpack(file.read(_END.size))
            if magic != _MAGIC or length + _END.size > size:
                return False
            end = size - _END.size - length
            file.seek(end)
            wanted = json.loads(file.read(length))["crc"]
            file.seek(0)
            crc = 0
            while end > 0:
                block = file.read(min(_READ, end))
                crc, end = zlib.crc32(block, crc), end - len(block)
        return bool(crc == wanted)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False
