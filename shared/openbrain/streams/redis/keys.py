"""Names of what a consumer group stores in Redis in addition to its stream."""

PARKED = "__retry__"
"""The consumer that owns parked entries; no process reads as it."""

DEAD_FIELDS = {
    name.encode()
    for name in ("stream", "group", "entry", "error", "message", "attempts", "abandonments", "first_at", "last_at")
}


def retry_states(stream: str, group: str) -> str:
    """The hash that counts failures and abandonments: entry id to `failures abandonments first-failure error`."""
    return f"{stream}.{group}.retries"
