"""Errors of HTTP itself; all others are in `openbrain.domain.errors`."""

from collections.abc import Mapping

from openbrain.domain.errors import NeverRetry


class Refused(NeverRetry):
    """A request that is refused before a handler sees it."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}


def no_such_route() -> Refused:
    """The refusal of a path that nothing is served under."""
    return Refused(404, "not_found", "there is nothing here: see /openapi.json for the routes")


def wrong_method(allowed: str) -> Refused:
    """The path is served, but not for this method."""
    return Refused(405, "method_not_allowed", f"use {allowed} here", headers={"allow": allowed})


def too_large(limit: int) -> Refused:
    """Above the limit of every body."""
    return Refused(413, "too_large", f"the body must be at most {limit} bytes: send fewer memories at once")


def given_twice(name: str) -> Refused:
    """One of two headers can't be the one that counts: another reader of the request may take the other."""
    return Refused(400, "duplicate_header", f"send the header {name} once")


def wrong_type() -> Refused:
    """Not JSON by its own word."""
    return Refused(415, "unsupported_media_type", "send JSON, with the header `Content-Type: application/json`")


def bad_json() -> Refused:
    """Not JSON by its bytes."""
    return Refused(400, "invalid_json", "the body is not valid JSON in UTF-8, or is nested too deeply")
