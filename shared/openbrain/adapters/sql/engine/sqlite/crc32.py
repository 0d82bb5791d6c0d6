"""The hash that MariaDB has and SQLite lacks."""

import zlib

CRC32 = "openbrain_crc32"


def crc32(*parts: object) -> int:
    """Of the parts as text with `|` between, as `CRC32(CONCAT_WS('|', ...))`."""
    return zlib.crc32("|".join(map(str, parts)).encode())
