"""A handler's result for each delivery: made of failures by memory; read by the stream layer."""

from collections.abc import Mapping, Sequence
from typing import Any

from openbrain.streams.group.delivery import Delivery, Results


def per_delivery(
    deliveries: Sequence[Delivery[Any]], failures: Mapping[str, Exception]
) -> list[Exception | None] | None:
    """Each delivery gets the failure of its memory."""
    if not failures:
        return None
    return [failures.get(delivery.event.data.memory_id) for delivery in deliveries]


def one_each(results: Results, expected: int) -> Sequence[Exception | None]:
    """None for all that is done. Raises `TypeError` for an answer that fits no batch of so many deliveries."""
    if results is None:
        return [None] * expected
    if len(results) != expected:
        raise TypeError(f"the handler answered {len(results)} results for {expected} deliveries")
    return results
