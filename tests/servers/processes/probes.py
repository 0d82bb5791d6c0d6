"""Checks whether a starting server answers yet, using only sockets."""

import http.client
import socket


def redis_pong(port: int) -> bool:
    """True if the server answers PONG; one that still loads its append-only file answers -LOADING instead."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as link:
            link.sendall(b"PING\r\n")
            return link.recv(64).startswith(b"+PONG")
    except OSError:
        return False


def mariadb_greeting(port: int) -> bool:
    """True if the server sends its greeting: three bytes of length, a sequence number, then the protocol version,
    10."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as link:
            return link.recv(64)[4:5] == b"\n"
    except OSError:
        return False


def http_ok(port: int, path: str) -> bool:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        link.request("GET", path)
        return link.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        link.close()
