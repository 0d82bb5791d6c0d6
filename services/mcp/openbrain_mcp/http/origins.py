"""The allow-list of browser origins: a page that reaches this host by DNS rebinding has another origin."""

from collections.abc import Collection
from urllib.parse import urlsplit

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def may_ask(origin: str | None, allowed: Collection[str]) -> bool:
    """Programs send none. Pages of this machine may, and those that the settings name."""
    if origin is None:
        return True
    given = origin.strip().lower()
    if given in {item.strip().lower().rstrip("/") for item in allowed}:
        return True
    try:
        parts = urlsplit(given)
        of_here = parts.hostname in _THIS_MACHINE and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    bare = not (parts.path or parts.query or parts.fragment or parts.username is not None)
    return of_here and bare and parts.scheme in {"http", "https"}
