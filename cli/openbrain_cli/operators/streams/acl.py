"""acl: users of the stream server."""

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from openbrain.domain.errors import SetupError
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson
from openbrain_cli.output import as_json, say
from openbrain_cli.profile import settings_in_use

RULES, PASSWORDS = "users.acl", "passwords"

Write = Annotated[Path | None, typer.Option("--write", help=f"Write {RULES} and {PASSWORDS} into this folder.")]
For = Annotated[list[str] | None, typer.Option("--workspace", help="Add its producer and subscriber; repeatable.")]
Reference = Annotated[bool, typer.Option("--reference", help="Print the reference page of all rules instead.")]


@command(
    "openbrain acl --workspace team-a",
    "openbrain acl --workspace team-a --write ./redis && redis-server --aclfile ./redis/users.acl",
)
def acl(write: Write = None, workspace: For = None, reference: Reference = False, json: AsJson = False) -> None:
    """Generate the Redis users of services, producers and subscribers from the table of streams.

    Without --write the rules are printed. With it they are written as Redis' ACL file, with the passwords in a file
    next to it; existing passwords are kept, with their workspaces, so that another one can be added later.
    """
    from openbrain.streams.operating import acl as rules

    if reference:
        print(rules.page(), end="")
        return
    settings = settings_in_use()
    streams = settings.streams
    known = {} if write is None else _passwords(write)
    workspaces = sorted({*streams.bound_workspaces, *(workspace or ()), *rules.workspaces_of(known)})
    users = rules.users(streams.prefix, workspaces, sorted(settings.events.streams))
    if write is None:
        if json:
            as_json([{"user": user.name, "rules": user.rules, "about": user.about} for user in users])
        else:
            print("\n".join(f"user {user.name} on {user.rules}" for user in users))
        return
    passwords = known | {user.name: secrets.token_urlsafe(32) for user in users if user.name not in known}
    _put(write / PASSWORDS, "".join(f"{user} {password}\n" for user, password in passwords.items()))
    _put(write / RULES, rules.acl_file(users, passwords))
    of = f" (workspaces: {', '.join(workspaces)})" if workspaces else ""
    say(f"{write / RULES} has {len(users)} users{of}; their passwords are in {write / PASSWORDS}")


def _passwords(folder: Path) -> dict[str, str]:
    """Make the folder, and read the passwords that it has."""
    file = folder / PASSWORDS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return dict(line.split(maxsplit=1) for line in file.read_text().splitlines()) if file.exists() else {}
    except (OSError, ValueError) as error:
        raise SetupError(f"{file} can't be used ({type(error).__name__}): each line is a user and a password") from None


def _put(file: Path, text: str) -> None:
    """Write the file whole or not at all: the passwords in it are in use."""
    file = file.resolve()
    beside = file.with_name(f".{file.name}.new")
    try:
        written = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(written, "w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)
    except OSError as error:
        raise SetupError(f"{file} can't be written: {error.strerror}") from None
