"""Column types as the migrations use them: apart from the tables of today, which may change."""

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, String, Text, text
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

_BYTEWISE = "utf8mb4_nopad_bin"
_MARIADB = ("mysql", "mariadb")


def name(length: int) -> TypeEngine[str]:
    """Text that is compared byte for byte."""
    return String(length).with_variant(mysql.VARCHAR(length, collation=_BYTEWISE), *_MARIADB)


def ascii_name(length: int) -> TypeEngine[str]:
    """ASCII text that is compared byte for byte, for ids and words of ours."""
    return String(length).with_variant(mysql.VARCHAR(length, charset="ascii", collation="ascii_bin"), *_MARIADB)


def long_text() -> TypeEngine[str]:
    """Up to 16 MiB of text."""
    return Text().with_variant(mysql.MEDIUMTEXT(collation=_BYTEWISE), *_MARIADB)


def long_bytes() -> TypeEngine[bytes]:
    """Up to 16 MiB of bytes."""
    return LargeBinary().with_variant(mysql.MEDIUMBLOB(), *_MARIADB)


def serial() -> TypeEngine[int]:
    """A number that the database gives: 64 bits on both."""
    return BigInteger().with_variant(Integer(), "sqlite")


def given(column: str, type_: TypeEngine[str]) -> "Column[str]":
    """Text that must be there."""
    return Column(column, type_, nullable=False)


def empty(column: str, type_: TypeEngine[str]) -> "Column[str]":
    """Text that may be ''."""
    return Column(column, type_, nullable=False, server_default="")


def time(column: str) -> "Column[int]":
    """Microseconds since 1970."""
    return Column(column, BigInteger, nullable=False)


def zero(column: str, type_: type[Integer] = Integer) -> "Column[int]":
    """A number that starts at 0."""
    return Column(column, type_, nullable=False, server_default=text("0"))
