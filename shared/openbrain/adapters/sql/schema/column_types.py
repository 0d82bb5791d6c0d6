"""Column types of the truth's tables: one definition for MariaDB and SQLite. Vectors are kept as bytes.

Strings that are compared are compared byte for byte on both.
"""

import sys
from array import array

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, String, Text, text
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

BYTEWISE = "utf8mb4_nopad_bin"


def name(length: int) -> TypeEngine[str]:
    return String(length).with_variant(mysql.VARCHAR(length, collation=BYTEWISE), "mysql", "mariadb")


def ascii_name(length: int) -> TypeEngine[str]:
    return String(length).with_variant(
        mysql.VARCHAR(length, charset="ascii", collation="ascii_bin"), "mysql", "mariadb"
    )


def long_text() -> TypeEngine[str]:
    return Text().with_variant(mysql.MEDIUMTEXT(collation=BYTEWISE), "mysql", "mariadb")


def long_bytes() -> TypeEngine[bytes]:
    return LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")


def serial() -> TypeEngine[int]:
    return BigInteger().with_variant(Integer(), "sqlite")


def empty(column: str, type_: TypeEngine[str]) -> "Column[str]":
    return Column(column, type_, nullable=False, server_default="")


def count(column: str) -> "Column[int]":
    return Column(column, Integer, nullable=False, server_default=text("0"))


def to_bytes(vector: "array[float]") -> bytes:
    """32-bit floats, little-endian."""
    plain = array("f", vector)
    if sys.byteorder == "big":
        plain.byteswap()
    return plain.tobytes()


def to_vector(stored: bytes) -> "array[float]":
    """The inverse of `to_bytes`."""
    vector = array("f")
    vector.frombytes(stored)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector
