import pymysql
import pytest
from sqlalchemy.engine import make_url

from tests.servers.mariadb_server import create_database, drop_database
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server, ServerError
from tests.support.waiting import PATIENCE_S


def connect(url: str) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    asked = make_url(url)
    return pymysql.connect(
        host=str(asked.host),
        port=int(asked.port or 0),
        user=asked.username,
        password=str(asked.password),
        database=asked.database,
        charset="utf8mb4",
        connect_timeout=round(PATIENCE_S),
    )


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    with connect(url) as link, link.cursor() as cursor:
        cursor.execute(statement)
        link.commit()
        return list(cursor.fetchall())


def test_a_database_of_its_own_is_empty(mariadb_url: str) -> None:
    assert rows(mariadb_url, "SHOW TABLES") == []
    rows(mariadb_url, "CREATE TABLE memory (body VARCHAR(20) CHARACTER SET utf8mb4)")
    rows(mariadb_url, "INSERT INTO memory VALUES ('brain \N{BRAIN}')")
    assert rows(mariadb_url, "SELECT body FROM memory") == [("brain \N{BRAIN}",)]


def test_databases_are_made_and_dropped_by_name(mariadb_server: Server) -> None:
    url = create_database(mariadb_server, "openbrain_by_name")
    assert url.endswith("/openbrain_by_name")
    with pytest.raises(ServerError, match="exists"):
        create_database(mariadb_server, "openbrain_by_name")
    drop_database(mariadb_server, "openbrain_by_name")
    with pytest.raises(ValueError, match="begins with openbrain"):
        create_database(mariadb_server, "mysql")


@pytest.mark.servers("mariadb")
def test_a_commit_survives_kill_and_restart(private_server: Starter) -> None:
    server = private_server("mariadb")
    rows(server.url, "CREATE TABLE memory (id INT PRIMARY KEY) ENGINE=InnoDB")
    rows(server.url, "INSERT INTO memory VALUES (1)")
    server.kill()
    with pytest.raises(pymysql.err.OperationalError):
        rows(server.url, "SELECT 1")
    server.start()
    rows(server.url, "INSERT INTO memory VALUES (2)")
    server.restart()
    assert rows(server.url, "SELECT id FROM memory ORDER BY id") == [(1,), (2,)]
