"""Identifiers and hashes: UUIDv7, point ids, buckets, digests. Every one can be computed again from the truth."""

import hashlib
import os
import re
import uuid
import zlib

BUCKETS = 1024
"""Into how many parts reconciliation divides an index."""

LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""Behind every id of a time."""

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(UUID)


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in canonical lower-case form."""
    return _UUID.fullmatch(text) is not None


def uuid7(now: int, entropy: bytes | None = None) -> str:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds from `now` (microseconds), 74 random bits."""
    moment, random = (now // 1000).to_bytes(6, "big").hex(), (entropy or os.urandom(10)).hex()
    variant = "89ab"[int(random[4], 16) & 3]
    return f"{moment[:8]}-{moment[8:]}-7{random[1:4]}-{variant}{random[5:8]}-{random[8:]}"


def transfer_id(holder: str, memory_id: str) -> str:
    """The id under which `holder` (a workspace, or one in it) keeps a memory whose own id is not to be had there.

    Always the same for both, and of the same millisecond, so that order by id stays what it was.
    """
    moment = int(memory_id[:8] + memory_id[9:13], 16) * 1000
    return uuid7(moment, hashlib.blake2b(f"{holder}\0{memory_id}".encode(), digest_size=10).digest())


def point_id(memory_id: str, passage: int) -> str:
    """The index id of a passage: the memory's own id for passage 0, uuid5(memory, number) for the others."""
    return memory_id if passage == 0 else str(uuid.uuid5(uuid.UUID(memory_id), str(passage)))


def bucket(memory_id: str) -> int:
    """0..1023, the same for every passage of a memory."""
    return zlib.crc32(memory_id.encode()) % BUCKETS


def digest(memory_id: str, passage: int, revision: int, updated_at: int, content: str, builder: str) -> int:
    """32 bits over what an index entry was made from, so that sums of digests show a difference. `content` is its hash.

    The databases compute the same (`adapters/sql/due.py`). After a database was put back the same revision may be given
    again to something else: hence the time.
    """
    return zlib.crc32(f"{memory_id}|{passage}|{revision}|{updated_at}|{content}|{builder}".encode())


def mark(bucket: int, digest: int) -> int:
    """Both in one number."""
    return bucket << 32 | digest


def content_hash(content: str) -> str:
    """SHA-256 of the content, hex."""
    return hashlib.sha256(content.encode()).hexdigest()


def given_input(memory_id: str, content: str) -> str:
    """The input hash of a vector that an import brought along for a memory; `content`: the hash of what it says.

    No other memory has it, so that nobody's text is found by a vector that somebody else made up for the same words.
    """
    return joined_hash("given", memory_id, content)


def joined_hash(*parts: str) -> str:
    """SHA-256 over the parts, each with its length before it, hex: no two lists of parts collide by joining."""
    return hashlib.sha256("".join([f"{len(part)}:{part}" for part in parts]).encode()).hexdigest()
