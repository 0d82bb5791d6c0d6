"""Identifiers and hashes: UUIDv7, point ids, buckets, digests. All but UUIDv7 can be recomputed from the database."""

import hashlib
import os
import re
import uuid
import zlib
from collections import deque
from collections.abc import Iterable, Iterator

BUCKETS = 1024
"""The number of parts into which reconciliation divides an index."""

LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""Sorts behind every id of the same time."""

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(UUID)

_RANDOM_AT_ONCE = 256
_random: deque[bytes] = deque()
# A forked process must not hand out its parent's.
os.register_at_fork(after_in_child=_random.clear)


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in canonical lower-case form."""
    return _UUID.fullmatch(text) is not None


def uuids_among(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts that are UUIDs, faster than a call of `is_uuid` for each."""
    return filter(_UUID.fullmatch, texts)


def uuid7(now: int, entropy: bytes | None = None) -> str:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds from `now` (microseconds), 74 random bits."""
    moment, random = (now // 1000).to_bytes(6, "big").hex(), (entropy or random_bytes()[:10]).hex()
    variant = "89ab"[int(random[4], 16) & 3]
    return f"{moment[:8]}-{moment[8:]}-7{random[1:4]}-{variant}{random[5:8]}-{random[8:]}"


def random_bytes() -> bytes:
    """16 bytes from the system's generator, asked for many at once: each call to it lets another thread take over."""
    while True:
        try:
            return _random.pop()
        except IndexError:
            drawn = os.urandom(16 * _RANDOM_AT_ONCE)
            _random.extend(drawn[start : start + 16] for start in range(0, len(drawn), 16))


def made_at(uuid: str) -> int:
    """The millisecond in a version 7 UUID, in microseconds."""
    return int(uuid[:8] + uuid[9:13], 16) * 1000


def transfer_id(holder: str, memory_id: str) -> str:
    """The id under which `holder` (a workspace, or something in it) stores a memory whose own id is not available
    there.

    Deterministic, and with the same millisecond, so that ordering by id is preserved.
    """
    return uuid7(made_at(memory_id), hashlib.blake2b(f"{holder}\0{memory_id}".encode(), digest_size=10).digest())


def point_id(memory_id: str, passage: int) -> str:
    """The index id of a passage: the memory's own id for passage 0, uuid5(memory, number) for the others."""
    return memory_id if passage == 0 else str(uuid.uuid5(uuid.UUID(memory_id), str(passage)))


def bucket(memory_id: str) -> int:
    """0..1023, the same for every passage of a memory."""
    return zlib.crc32(memory_id.encode()) % BUCKETS


def digest(memory_id: str, passage: int, revision: int, updated_at: int, content: str, builder: str) -> int:
    """32 bits over the inputs of an index entry, so that sums of digests reveal a difference. `content` is its hash.

    The databases compute the same value (`adapters/sql/indexes/expected_entries.py`). The time is included because a
    restored database may give the same revision to different content.
    """
    return zlib.crc32(f"{memory_id}|{passage}|{revision}|{updated_at}|{content}|{builder}".encode())


def mark(bucket: int, digest: int) -> int:
    """Bucket and digest in one number."""
    return bucket << 32 | digest


def content_hash(content: str) -> str:
    """SHA-256 of the content, hex."""
    return hashlib.sha256(content.encode()).hexdigest()


def given_input(memory_id: str, content: str) -> str:
    """The input hash of a vector that an import supplied for a memory; `content`: hash of the memory's content.

    It is unique to the memory, so that a vector supplied by someone else is never used for the same words of another.
    """
    return joined_hash("given", memory_id, content)


def joined_hash(*parts: str) -> str:
    """SHA-256 over the length-prefixed parts, hex: different lists of parts never give the same input."""
    return hashlib.sha256("".join([f"{len(part)}:{part}" for part in parts]).encode()).hexdigest()
