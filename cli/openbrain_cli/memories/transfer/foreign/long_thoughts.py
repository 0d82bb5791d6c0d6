"""Thoughts that are longer than a memory may be, in parts as the API keeps them."""

from collections.abc import Iterator, Mapping
from typing import Any

from openbrain.domain import limits
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import MemoryType
from openbrain.domain.text.thought_parts import MOST_PARTS, PART, PARTS, WHOLE, part_id, split
from openbrain_cli.memories.transfer.foreign.fields import identity_of


def in_parts(line: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The line of a memory, or of a long thought one line a part; what is too long even so is left to be refused."""
    content = str(line["content"])
    texts = split(content) if line["type"] is MemoryType.CONTEXT and len(content) > limits.CONTENT_CHARS else [content]
    if not 1 < len(texts) <= MOST_PARTS:
        yield line
        return
    line = {name: value for name, value in line.items() if name not in {"vector", "vector_model"}}  # it is of the whole
    identity = identity_of(line["metadata"])
    for number, text in enumerate(texts, 1):
        yield {
            **line,
            "id": part_id(str(line["id"]), number),
            "content": text,
            "metadata": {**line["metadata"], PART: number, PARTS: len(texts), WHOLE: str(line["id"])},
            "identity": joined_hash(identity, str(number)) if identity else "",
        }
