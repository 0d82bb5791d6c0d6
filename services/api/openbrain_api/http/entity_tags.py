"""Entity tags of a memory: `"<edition>.<digest of what is shown>"`.

`If-Match` compares the edition, which only its users change; `If-None-Match` the whole, which also tells of indexing.
"""

import hashlib
from collections.abc import Mapping

from openbrain.domain.memory import Memory
from openbrain_api.http.response import to_json
from openbrain_api.memories.rendering import Json


def entity_tag(memory: Memory, shown: Json) -> str:
    """Of the memory as it is shown."""
    digest = hashlib.blake2b(to_json(shown), digest_size=8).hexdigest()
    return f'"{memory.edition}.{digest}"'


def tagged(memory: Memory, shown: Json, headers: Mapping[str, str] | None = None) -> dict[str, str]:
    """The headers with the tag."""
    return {**(headers or {}), "etag": entity_tag(memory, shown)}
