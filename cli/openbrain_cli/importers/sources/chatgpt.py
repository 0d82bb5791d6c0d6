"""ChatGPT's data export, unpacked: the last shown branch of each conversation, with a memory per message."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.file_reading import Unreadable
from openbrain_cli.importers.found_memory import FoundMemory, Note, Scan, line, tags
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.records.files import RecordFile, json_file
from openbrain_cli.importers.records.mapping import when

CLIENT = "chatgpt"
_ROOT = "conversations/"
_MEMORY_TOOL = "bio"
"""The tool that the assistant calls to store a memory in ChatGPT."""


def files(folder: Path) -> list[Path]:
    """The files of conversations in an unpacked export: one, or several that are numbered."""
    return sorted(path for path in folder.glob("conversations*.json") if path.is_file())


def scan(path: Path) -> Iterator[Scan]:
    """Read an unpacked export, or one file of it."""
    complete = path.is_dir() or path.name == "conversations.json"
    for item in files(path) if path.is_dir() else [path]:
        try:
            file = _checked(item)
        except Unreadable as error:
            complete = False
            yield Scan(notes=(Note(str(item), str(error)),))
        else:
            yield from _conversations(file, item)
    yield Scan(covered=((CLIENT, _ROOT),) if complete else ())


def _checked(path: Path) -> RecordFile:
    """Read the file to its end once, so that no file is imported in part."""
    file = json_file(path)
    for _ in file.rows():
        pass
    return file


def _conversations(file: RecordFile, path: Path) -> Iterator[Scan]:
    strange = 0
    for row in file.rows():
        if isinstance(row, dict) and isinstance(row.get("mapping"), dict):
            yield Scan(tuple(_conversation(row)))
        else:
            strange += 1
    if strange:
        yield Scan(notes=(Note(str(path), f"{strange} entries are no conversations, left out"),))


def _conversation(row: Mapping[str, Any]) -> Iterator[FoundMemory]:
    name = line(str(row.get("conversation_id") or row.get("id") or row.get("create_time") or "unnamed"))
    title = line(str(row.get("title") or ""))[: limits.SESSION_CHARS]
    chunker = Chunker(CLIENT, f"{_ROOT}{name}", when(row.get("update_time")) or when(row.get("create_time")))
    for turn, (node, message) in enumerate(_branch(row)):
        author, text = _role(message), _text(message)
        remembered = message.get("recipient") == _MEMORY_TOOL
        if text.strip() and (author in {"user", "assistant"}) and (remembered or _for_all(message)):
            yield from chunker.chunks(
                line(node),
                text,
                type=MemoryType.FACT if remembered else MemoryType.CONTEXT,
                scope=Scope.SHARED,
                tags=tags("chatgpt memory" if remembered else "chatgpt"),
                confidence=0.7 if remembered else 0.5,
                occurred_at=when(message.get("create_time")) or chunker.changed,
                session_id=name[: limits.SESSION_CHARS],
                turn=turn,
                speaker=author,
                details={"conversation": title} if title else {},
            )


def _branch(row: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The messages from the first to the one shown last; if none is marked as last, all in the file's order."""
    nodes: Mapping[str, Any] = {key: node for key, node in row["mapping"].items() if isinstance(node, dict)}
    at, path = row.get("current_node"), dict[str, None]()
    while isinstance(at, str) and at in nodes and at not in path:
        path[at] = None
        at = nodes[at].get("parent")
    order = list(reversed(path)) or list(nodes)
    return [(key, message) for key in order if isinstance(message := nodes[key].get("message"), dict)]


def _role(message: Mapping[str, Any]) -> str:
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else ""
    return role if isinstance(role, str) else ""


def _for_all(message: Mapping[str, Any]) -> bool:
    """True if the message is neither a tool call nor hidden."""
    metadata = message.get("metadata")
    hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation")
    return message.get("recipient", "all") in {"all", None} and not hidden


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message; pictures and files are not in the export."""
    content = message.get("content")
    if not isinstance(content, dict):
        return ""
    parts = content.get("parts")
    texts = parts if isinstance(parts, list) else [content.get("text")]
    return "\n\n".join(part for part in texts if isinstance(part, str) and part.strip())
