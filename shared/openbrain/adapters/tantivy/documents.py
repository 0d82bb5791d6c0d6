"""Converts an entry to tantivy documents: schema, English analysis, fields.

The dictionaries are the main cost of a commit, one per indexed field. So all keywords share one field as `name=value`
terms, and numbers are fast fields. Nothing is stored: the database has the text, and to read an id back from a stored
document the engine decompresses a block of documents, so a memory's id is two numbers.
"""

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tantivy import (
    DocAddress,
    Document,
    Filter,
    Schema,
    SchemaBuilder,
    Searcher,
    TextAnalyzer,
    TextAnalyzerBuilder,
    Tokenizer,
)

from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.text.unicode_ranges import IDEOGRAPH, character_class
from openbrain.ports.index import TextEntry, Tombstone

BUILDER = "tantivy-english-7"
PASSAGE = "entry=passage"
"""The keyword of a document that is only a passage of an entry."""
INTEGERS = ("occurred_at", "expires_at", "removed_at", "revision", "bucket", "digest")
_ID_HALVES = ("id_high", "id_low")
"""The memory's id as two signed numbers of 64 bits."""
_KEYWORDS = ("workspace_id", "org", "project", "agent_id", "session_id", "memory_scope", "audience", "type", "source")
NAMED = "entry=named"
"""The keyword of an entry with names."""
_HALF = 2**64 - 1
_IDEOGRAPH = re.compile(f"[{character_class(IDEOGRAPH)}]")


def _schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("keyword", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name="english")  # with positions, for phrases
    for name in (*_ID_HALVES, *INTEGERS):
        builder.add_integer_field(name, fast=True)
    builder.add_float_field("confidence", fast=True)
    builder.add_boolean_field("tombstone", fast=True)
    return builder.build()


FIELDS = _schema()
"""The schema of every generation. Raise BUILDER when it changes."""


def english() -> TextAnalyzer:
    """Return an analyzer: lower case words without stop words, stemmed. The `s` and `t` left of `it's` and `don't` are
    stop words."""
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(255)).filter(Filter.lowercase())
    builder = builder.filter(Filter.stopword("english")).filter(Filter.custom_stopword(["s", "t"]))
    return builder.filter(Filter.stemmer("english")).build()


def spaced(text: str) -> str:
    """Return the text as the analyzer must get it: with spaces around ideographs."""
    return text if text.isascii() else _IDEOGRAPH.sub(r" \g<0> ", text)


def keyword(field: str, value: str) -> str:
    """Return the term that filters compare."""
    return f"{field}={value}"


def numbers(searcher: Searcher, field: str, places: list[DocAddress]) -> list[int]:
    """Return the field's value at each place; 0 if it has none."""
    return [int(value or 0) for value in searcher.fast_field_values(field, places)] if places else []


def memory_ids(searcher: Searcher, places: Sequence[DocAddress]) -> list[str]:
    """Return the memory's id at each place."""
    halves = [numbers(searcher, name, list(places)) for name in _ID_HALVES]
    return [_uuid(high, low) for high, low in zip(*halves, strict=True)]


def _uuid(high: int, low: int) -> str:
    digits = f"{high & _HALF:016x}{low & _HALF:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _halves(memory_id: str) -> dict[str, int]:
    """Return the fields of an id. `ValueError` if it is no UUID."""
    digits = uuid.UUID(memory_id).bytes
    return {
        name: int.from_bytes(half, signed=True) for name, half in zip(_ID_HALVES, (digits[:8], digits[8:]), strict=True)
    }


def passage_of(entry_id: str) -> str:
    """Return the keyword of an entry's passages."""
    return keyword("passage_of", entry_id)


def name_key(key: str) -> str:
    """Return the keyword of a key of a name."""
    return keyword("name_key", key)


def documents(entry: TextEntry | Tombstone, name_keys: Sequence[str] = ()) -> list[Document]:
    """Return the documents of the entry and its passages. `ValueError` if a number is out of range or a string is not
    valid text."""
    values = values_of(entry)
    if isinstance(entry, TextEntry) and name_keys:
        values["keyword"] += [NAMED, *map(name_key, name_keys)]
    parts = _passages(entry, values) if isinstance(entry, TextEntry) else ()
    return [Document.from_dict(item, FIELDS) for item in (values, *parts)]


def _passages(entry: TextEntry, whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield passages with the fields that filters use, and the owner; without id, bucket and revision, so that
    reconciliation neither counts nor finds them."""
    for text in entry.passages:
        yield {
            "tombstone": False,
            "keyword": [PASSAGE, passage_of(entry.id), *_keywords(entry)],
            "text": spaced(text),
            **{name: whole[name] for name in (*_ID_HALVES, "occurred_at", "expires_at", "confidence")},
        }


def values_of(entry: TextEntry | Tombstone) -> dict[str, Any]:
    """Return the entry's values by field."""
    values: dict[str, Any] = {
        "id": entry.id,
        **_halves(entry.memory_id),
        "revision": entry.revision,
        "bucket": entry.bucket,
        "digest": 0,
        "tombstone": True,
    }
    if isinstance(entry, Tombstone) and entry.at:
        values["removed_at"] = entry.at
    if isinstance(entry, TextEntry):
        values |= {
            "digest": entry.digest,
            "tombstone": False,
            "keyword": list(_keywords(entry)),
            "text": spaced(entry.text),
            "occurred_at": entry.fields.occurred_at,
            "expires_at": entry.fields.expires_at,
            "confidence": entry.fields.confidence,
        }
    return values


def _keywords(entry: TextEntry) -> Iterator[str]:
    fields = entry.fields
    for name in _KEYWORDS:
        yield keyword(name, getattr(fields, name))
    for tag in fields.tags:
        yield keyword("tags", tag)
    for pair in fields.metadata_pairs:
        yield keyword(METADATA_PAIRS, pair)
