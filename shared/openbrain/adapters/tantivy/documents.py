"""Converts an entry to tantivy documents: schema, English analysis, fields.

The dictionaries are the main cost of a commit, one per indexed field. So all keywords share one field as `name=value`
terms, values that are only read back are bytes, and numbers are fast fields. The text itself is not stored: the
database has it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tantivy import Document, Filter, Schema, SchemaBuilder, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.text.unicode_ranges import IDEOGRAPH, character_class
from openbrain.ports.index import TextEntry, Tombstone

BUILDER = "tantivy-english-6"
PASSAGE = "entry=passage"
"""The keyword of a document that is only a passage of an entry."""
INTEGERS = ("occurred_at", "expires_at", "removed_at", "revision", "bucket", "digest")
_KEYWORDS = ("workspace_id", "org", "project", "agent_id", "session_id", "memory_scope", "audience", "type", "source")
_IDEOGRAPH = re.compile(f"[{character_class(IDEOGRAPH)}]")


def _schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("memory_id", stored=True)
    builder.add_text_field("keyword", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name="english")  # with positions, for phrases
    for name in INTEGERS:
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


def memory_id(stored: Document) -> str:
    """Return the memory id of a stored document."""
    return bytes(stored.get_first("memory_id") or b"").decode()


def passage_of(entry_id: str) -> str:
    """Return the keyword of an entry's passages."""
    return keyword("passage_of", entry_id)


def name_key(key: str) -> str:
    """Return the keyword of a key of a name."""
    return keyword("name_key", key)


def documents(entry: TextEntry | Tombstone, name_keys: Iterable[str] = ()) -> list[Document]:
    """Return the documents of the entry and its passages. `ValueError` if a number is out of range or a string is not
    valid text."""
    values = values_of(entry)
    if isinstance(entry, TextEntry):
        values["keyword"] += map(name_key, name_keys)
    parts = _passages(entry, values) if isinstance(entry, TextEntry) else ()
    return [Document.from_dict(item, FIELDS) for item in (values, *parts)]


def _passages(entry: TextEntry, whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield passages with the fields that filters use, and the owner; without id, bucket and revision, so that
    reconciliation neither counts nor finds them."""
    for text in entry.passages:
        yield {
            "memory_id": whole["memory_id"],
            "tombstone": False,
            "keyword": [PASSAGE, passage_of(entry.id), *_keywords(entry)],
            "text": spaced(text),
            **{name: whole[name] for name in ("occurred_at", "expires_at", "confidence")},
        }


def values_of(entry: TextEntry | Tombstone) -> dict[str, Any]:
    """Return the entry's values by field."""
    values: dict[str, Any] = {
        "id": entry.id,
        "memory_id": entry.memory_id.encode(),
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
