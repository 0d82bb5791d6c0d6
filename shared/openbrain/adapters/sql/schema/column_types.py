"""Column types of the tables: one definition for MariaDB and SQLite. Vectors are stored as bytes.

Compared strings are compared byte by byte on both.
"""

import sys
from array import array
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Text, literal, text
from sqlalchemy.dialects import mysql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from openbrain.adapters.sql.engine.database import MARIADB, SQLITE
from openbrain.domain.limits import METADATA_VALUE_CHARS

BYTEWISE = "utf8mb4_nopad_bin"
metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s"}
)
"""The metadata of all tables, with the naming of their indexes."""


ERROR_CHARS = 1000
"""Characters of an error that a row keeps."""


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


class _MetadataValue(FunctionElement[Any]):
    """The text of a scalar at a path of a JSON object; NULL for other kinds of values and if it is missing."""

    inherit_cache = True
    name = "metadata_value"


@compiles(_MetadataValue, SQLITE)
def _value_sqlite(element: _MetadataValue, compiler: SQLCompiler, **options: Any) -> str:
    document, path = (compiler.process(clause, **options) for clause in element.clauses)
    return (
        f"CASE json_type({document}, {path}) WHEN 'text' THEN json_extract({document}, {path})"
        f" WHEN 'integer' THEN CAST(json_extract({document}, {path}) AS TEXT)"
        " WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' END"
    )


@compiles(_MetadataValue, MARIADB)
def _value_mariadb(element: _MetadataValue, compiler: SQLCompiler, **options: Any) -> str:
    document, path = (compiler.process(clause, **options) for clause in element.clauses)
    value = f"JSON_EXTRACT({document}, {path})"
    # No pair has a longer value, and the column would reject the row.
    short = f"CHAR_LENGTH(JSON_UNQUOTE({value})) <= {METADATA_VALUE_CHARS}"
    return (
        f"CASE WHEN JSON_TYPE({value}) IN ('STRING', 'INTEGER', 'BOOLEAN') AND {short}"
        f" THEN CONVERT(JSON_UNQUOTE({value}) USING utf8mb4) COLLATE {BYTEWISE} END"
    )


def metadata_value(document: ColumnElement[Any], key: str) -> ColumnElement[Any]:
    """Return the value that a metadata pair with this key would have. The key has only letters, digits and -_."""
    return _MetadataValue(document, literal(f'$."{key}"'))


def to_bytes(vector: "array[float]") -> bytes:
    """Encode as 32-bit floats, little-endian."""
    plain = array("f", vector)
    if sys.byteorder == "big":
        plain.byteswap()
    return plain.tobytes()


def to_vector(stored: bytes) -> "array[float]":
    """Decode the result of `to_bytes`."""
    vector = array("f")
    vector.frombytes(stored)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector
