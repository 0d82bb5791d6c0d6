"""Invalid inputs of the routes for the vault: (member, value, the field that the refusal names)."""

from typing import Any

Bad = tuple[str, Any, str]
LONG = "x" * 60_000

MARKER: list[Bad] = [
    ("type", None, "type"),
    ("type", "hot", "type"),
    ("type", 5, "type"),
    ("content", None, "content"),
    ("content", " \n", "content"),
    ("content", 5, "content"),
    ("content", "x" * 4097, "content"),
    ("attrs", [], "attrs"),
    ("attrs", "a=b", "attrs"),
    ("attrs", {str(number): "x" for number in range(51)}, "attrs"),
    ("attrs", {"a": ["b"]}, "attrs"),
    ("attrs", {"a": "x" * 4097}, "attrs"),
    ("attrs", {"x" * 101: "a"}, "attrs"),
]
PAGE: list[Bad] = [
    ("content", None, "content"),
    ("content", "", "content"),
    ("content", LONG, "content"),
    ("content", "nul \x00", "content"),
    ("title", "two\nlines", "title"),
    ("title", LONG, "title"),
    ("filename", 5, "filename"),
    ("tags", ["t"] * 51, "tags"),
    ("tags", [5], "tags"),
]
ARTIFACT: list[Bad] = [
    ("key", None, "key"),
    ("key", "", "key"),
    ("key", LONG, "key"),
    ("content", None, "content"),
    ("content", LONG, "content"),
    ("content_type", "a\nb", "content_type"),
    ("producer", 5, "producer"),
    ("metadata", [1], "metadata"),
    ("metadata", {"a": LONG}, "metadata"),
]

BAD: list[tuple[str, str, list[Bad]]] = [
    ("POST", "/marker", MARKER),
    ("POST", "/vault/write_inbox", PAGE),
    ("POST", "/index_artifact", ARTIFACT),
]


def full(secret: str) -> dict[str, dict[str, Any]]:
    """Return a valid body for each route."""
    return {
        "/marker": {"type": "lesson", "content": secret},
        "/vault/write_inbox": {"content": secret, "title": secret},
        "/index_artifact": {"key": secret, "content": secret},
    }
