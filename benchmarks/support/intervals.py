"""How sure a share is."""

import math
from collections.abc import Iterable


def share(hits: Iterable[bool]) -> tuple[float, float, float]:
    """The share and its 95 % Wilson score interval."""
    values = list(hits)
    n, p, z = len(values), sum(values) / len(values), 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return p, middle - half, middle + half
