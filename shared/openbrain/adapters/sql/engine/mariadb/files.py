"""Remains of deleted rows in MariaDB's own files, by its settings: part of the result of an erasure."""

from sqlalchemy import Connection

_ASKED = ("log_bin", "binlog_expire_logs_seconds", "innodb_immediate_scrub_data_uncompressed")


def kept(connection: Connection) -> dict[str, object]:
    """The server's settings that matter, and what an operator should change. See docs/how-to/erase.md."""
    rows = connection.exec_driver_sql(
        f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({', '.join(['%s'] * len(_ASKED))})",
        _ASKED,
    )
    settings = {str(name): str(value) for name, value in rows}
    advice = []
    if settings.get("innodb_immediate_scrub_data_uncompressed") != "ON":
        advice.append(
            "freed space of InnoDB is overwritten only when it is used again: "
            "set innodb_immediate_scrub_data_uncompressed=ON, and run OPTIMIZE TABLE on memories and memory_history"
        )
    if settings.get("log_bin") == "ON":
        seconds = int(float(settings.get("binlog_expire_logs_seconds", "0")))
        until = f"for {seconds} seconds" if seconds else "until PURGE BINARY LOGS, for nothing expires them"
        advice.append(f"the binary log keeps the statements that stored it {until}")
    return {"product": "MariaDB", "settings": settings, "left_to_the_operator": advice}
