"""Translates errors of Qdrant's client into ours. The server's texts are never passed on: they may quote the
request."""

from collections.abc import Iterator
from contextlib import contextmanager

from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from openbrain.domain.errors import IndexMissing, NeverRetry, OpenBrainError, SetupError, TryLater

_BUSY = frozenset({408, 429, 500, 502, 503, 504})


@contextmanager
def translated() -> Iterator[None]:
    """Raise `TryLater` for a refused connection, a timeout or an overloaded server; `SetupError` for a wrong key."""
    try:
        yield
    except UnexpectedResponse as error:
        raise _refusal(error.status_code or 0) from None
    except (ApiException, QdrantException) as error:
        cause = getattr(error, "source", error)
        raise TryLater(f"Qdrant can't be reached or is busy ({type(cause).__name__}): check that it runs") from None


def _refusal(status: int) -> OpenBrainError:
    if status in {401, 403}:
        return SetupError(
            f"Qdrant refuses our key ({status}): check OPENBRAIN_VECTORS__API_KEY and its rights to write"
        )
    if status == 404:
        return IndexMissing("of a generation in Qdrant")
    if status in _BUSY:
        return TryLater(f"Qdrant is busy or not ready ({status})")
    return NeverRetry(f"Qdrant refuses the request ({status})")
