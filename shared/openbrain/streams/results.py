"""From what failed, by memory, to what the stream layer is answered, by delivery."""

from collections.abc import Mapping, Sequence
from typing import Any

from openbrain.streams.delivery import Delivery


def per_delivery(
    deliveries: Sequence[Delivery[Any]], failures: Mapping[str, Exception]
) -> list[Exception | None] | None:
    """Each delivery gets the failure of its memory."""
    if not failures:
        return None
    return [failures.get(delivery.event.data.memory_id) for delivery in deliveries]
