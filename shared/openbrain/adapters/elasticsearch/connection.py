"""Common parts of both Elasticsearch indexes: connection, errors, filters, documents.

Works with servers of 8.19 and later and with clients 8.19 and 9.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from elastic_transport import ConnectionError as Unreachable
from elastic_transport import TlsError, TransportError
from elasticsearch import ApiError, AsyncElasticsearch, UnsupportedProductError

from openbrain.domain.access.visibility import AllOf, AnyOf, AtLeast, Condition, Equals, LessThan, OneOf, Says
from openbrain.domain.errors import IndexMissing, NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.domain.times import to_iso
from openbrain.ports.index import Fields, TextEntry, Tombstone, VectorEntry

_LONG = 2**62
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_KEYWORDS = (
    *("workspace_id", "org", "project", "agent_id", "session_id", "memory_scope", "audience", "type", "tags", "source"),
    *("memory_id", "metadata_pairs"),
)
FIELD_NAMES = Fields._fields

COMMON_MAPPING: Mapping[str, Mapping[str, Any]] = {
    **{name: {"type": "keyword"} for name in _KEYWORDS},
    "confidence": {"type": "double"},
    "occurred_at": {"type": "long"},
    "expires_at": {"type": "long"},
    "created_at": {"type": "date"},
    "revision": {"type": "long"},
    "bucket": {"type": "integer"},
    "digest": {"type": "long"},
    "tombstone": {"type": "boolean"},
    "removed_at": {"type": "long"},
}
"""Properties of every document; an index adds its own (the text or the vector)."""


class _Untraced(AsyncElasticsearch):
    """A client without tracing: its spans record the server's messages about a document, and only the environment could
    disable them."""

    def __init__(self, *hosts: Any, **options: Any) -> None:
        super().__init__(*hosts, **options)
        self._otel.enabled = False


def connect(url: str, *, verify_tls: bool, timeout_s: float) -> AsyncElasticsearch:
    """Return a client that has not connected yet. The URL may contain user and password. It retries once after a broken
    connection; waiting and retrying is left to the stream layer."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SetupError("the address of Elasticsearch must look like http://host:9200 or https://host:9200")
    if parts.port is None:
        url = parts._replace(netloc=f"{parts.netloc.rstrip(':')}:{443 if parts.scheme == 'https' else 9200}").geturl()
    tls: dict[str, Any] = {}
    if parts.scheme == "https" and not verify_tls:
        tls = {"verify_certs": False, "ssl_show_warn": False}
    return _Untraced(url, request_timeout=timeout_s, max_retries=1, retry_on_timeout=False, **tls)


@contextmanager
def translated() -> Iterator[None]:
    """Translate the client's errors into ours. The server's messages about a document are dropped: they may quote
    it."""
    try:
        yield
    except TlsError:
        raise TryLater("Elasticsearch's certificate was not accepted: check it, or the setting verify_tls") from None
    except UnsupportedProductError:
        raise SetupError("the address answers, but not as Elasticsearch: check the URL") from None
    except Unreachable as error:
        raise TryLater(f"Elasticsearch can't be reached ({type(error).__name__}): check that it runs") from None
    except TransportError as error:
        raise TryLater(f"Elasticsearch didn't answer properly ({type(error).__name__})") from None
    except ApiError as error:
        raise refused(error.meta.status, str(error.error)) from None


async def ask(client: AsyncElasticsearch, index: str, **request: Any) -> Mapping[str, Any]:
    """Search one index and return the answer. All shards must respond."""
    with translated():
        answer = await client.search(index=index, allow_partial_search_results=False, **request)
    return dict(answer.body)


def passing(status: int, kind: str) -> bool:
    """True if the same request may succeed later. A block was set by an operator or because the disk is nearly full; a
    closed index is being restored."""
    return status in _BUSY or kind in {"cluster_block_exception", "index_closed_exception"}


def refused(status: int, kind: str) -> OpenBrainError:
    """Return our error for a server's response, or for a part of one."""
    if passing(status, kind):
        return TryLater(f"Elasticsearch is busy or not ready ({status} {kind})")
    if status in {401, 403}:
        return SetupError(f"Elasticsearch refuses our credentials ({status}): check user, password and their rights")
    if "media_type_header" in kind:
        return SetupError(
            "this Elasticsearch is too old for the installed client: pip install 'elasticsearch>=8.19,<9'"
        )
    if status == 404:
        return missing()
    return NeverRetry(f"Elasticsearch refuses the request ({status} {kind})")


def missing() -> TryLater:
    """A retryable error: the index will be created again, and no entry caused it."""
    return IndexMissing("of a generation in Elasticsearch")


def compiled(condition: Condition) -> dict[str, Any]:
    """Return the condition as a filter in Elasticsearch's query language."""
    match condition:
        case Equals(field, value):
            return {"term": {field: value}}
        case OneOf(field, values):
            return {"terms": {field: list(values)}}
        case Says():
            raise KeyError("an index can't evaluate `Says`: only the database can")
        case AtLeast(field, bound):
            return {"range": {field: {"gte": _in_range(bound)}}}
        case LessThan(field, bound):
            return {"range": {field: {"lt": _in_range(bound)}}}
        case AllOf(conditions):
            return {"bool": {"filter": [compiled(condition) for condition in conditions]}}
        case AnyOf(()):
            return {"match_none": {}}
        case AnyOf(conditions):
            return {"bool": {"should": [compiled(condition) for condition in conditions], "minimum_should_match": 1}}


def _in_range(bound: float) -> float:
    """Limit a bound to what Elasticsearch can compare with a long; no value of ours is outside."""
    return max(-_LONG, min(_LONG, bound))


def common_document(entry: TextEntry | VectorEntry) -> dict[str, Any]:
    """Return the fields of a document that COMMON_MAPPING describes."""
    fields = entry.fields
    return {
        "memory_id": entry.memory_id,
        "revision": entry.revision,
        "bucket": entry.bucket,
        "digest": entry.digest,
        "tombstone": False,
        **{name: getattr(fields, name) for name in FIELD_NAMES},
        "created_at": to_iso(fields.created_at),
    }


def tombstone_document(entry: Tombstone) -> dict[str, Any]:
    """Return a tombstone, which fences off late writes. It is a document, since Elasticsearch forgets a deletion after
    a minute."""
    return {
        "memory_id": entry.memory_id,
        "revision": entry.revision,
        "bucket": entry.bucket,
        "digest": 0,
        "tombstone": True,
        **({"removed_at": entry.at} if entry.at else {}),
    }
