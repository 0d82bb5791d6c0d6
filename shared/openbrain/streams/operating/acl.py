"""Rights on the stream server: a Redis ACL file, generated from the stream table.

A service reads the streams of its groups and writes dead letters; the housekeeper publishes; a producer appends to the
stream of its workspace; a subscriber reads the broadcasts of its workspace. There are no other users.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from openbrain.domain.errors import Invalid
from openbrain.domain.events.streams import BROADCAST, SIGNAL_ACKNOWLEDGED, SIGNAL_RAISED, STREAMS, SUBMITTED, replays
from openbrain.domain.events.streams import dead_letters as dead
from openbrain.streams.redis.keys import retry_states

WAKE = "openbrain.wake"
"""The channel of wake-up hints."""
RATES = "openbrain.rate."
"""Prefix of the keys that count requests."""

# Allowing single subcommands of CLIENT would name some that older servers don't know: they would refuse the file.
_GREETING = (
    "+auth +hello +ping +select +reset +quit "
    "+client -client|kill -client|pause -client|unpause -client|unblock -client|list -client|no-evict"
)
_WATCHES = "+info +time +exists +xlen +xinfo +xpending"
_READS = f"{_WATCHES} +xrange +xreadgroup +xack +xclaim +xgroup +hget +hset +hdel +evalsha +eval"
_PRODUCER = "producer-"
_WORKSPACE = re.compile(r"[A-Za-z0-9_-]+")
_FOREIGN = re.compile(r"[A-Za-z0-9_.:/-]+")
_GROUPS = {group: [spec for spec in STREAMS if group in spec.groups] for spec in STREAMS for group in spec.groups}


@dataclass(frozen=True, slots=True)
class User:
    """One ACL user: its rules in Redis syntax, and their purpose."""

    name: str
    rules: str
    about: str


def users(prefix: str = "", workspaces: Sequence[str] = (), foreign: Sequence[str] = ()) -> list[User]:
    """Return all users of a system. `foreign`: streams of another system that the amygdala reads. `Invalid` for a
    workspace whose name can't be part of a stream's name, and for a stream whose name would change the meaning of a
    rule."""
    for name in foreign:
        if not _FOREIGN.fullmatch(name):
            raise Invalid("events.streams", f"{name!r} can't stand in a rule: letters, digits and -_.:/ can")
    for workspace in workspaces:
        if not _WORKSPACE.fullmatch(workspace):
            raise Invalid("workspace", f"{workspace!r} can't be part of a stream's name: letters, digits, - and _ can")
    services = [
        _consumer(group, prefix, workspaces, foreign if group in SIGNAL_RAISED.groups else ()) for group in _GROUPS
    ]
    return [
        *services,
        _housekeeper(prefix),
        _api(prefix),
        _scaler(prefix),
        _producer(prefix),
        *_of_workspaces(prefix, workspaces),
    ]


def workspaces_of(names: Iterable[str]) -> set[str]:
    """Return the workspaces that have a producer among users of these names."""
    return {name.removeprefix(_PRODUCER) for name in names if name.startswith(_PRODUCER)}


def acl_file(users: Sequence[User], passwords: Mapping[str, str]) -> str:
    """Return the text of the `aclfile`: it contains passwords only as SHA-256, and the default user is off."""
    lines = ["user default off resetkeys resetchannels -@all"]
    lines += [f"user {user.name} on #{_hashed(passwords[user.name])} {user.rules}" for user in users]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return docs/reference/redis-acl.md: the rules for one workspace, without passwords."""
    rows = [f"| `{user.name}` | {user.about} | `{user.rules}` |" for user in users("", ["team-a"])]
    return "\n".join([_INTRODUCTION, "", "| user | may | rules |", "|---|---|---|", *rows, ""])


_INTRODUCTION = """# Users of the stream server

`openbrain acl --write FOLDER --workspace team-a` writes `users.acl` for Redis' `aclfile` (or Valkey's), and next to it
a file with the passwords that only you can read; passwords already in that file are kept, and so are the users of the
workspaces there: to remove a workspace, remove the lines of its producer and subscriber. The rules are generated from
the table of streams. Every service, producer and subscriber has its own user; the user `default` is off. Needs Redis 7
or Valkey 8: the rules use selectors."""


def _hashed(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


def _keys(names: Iterator[str] | Sequence[str]) -> str:
    return " ".join(f"~{name}" for name in names)


def _rules(prefix: str, own: str, *selectors: str) -> str:
    parts = [
        f"resetkeys resetchannels &{prefix}{WAKE} -@all {_GREETING} {own}",
        *(f"({selector})" for selector in selectors),
    ]
    return " ".join(" ".join(part.split()) for part in parts)


def _consumer(group: str, prefix: str, workspaces: Sequence[str], foreign: Sequence[str]) -> User:
    streams = [prefix + spec.name for spec in _GROUPS[group]]
    for spec in _GROUPS[group]:
        if spec.per_workspace:
            streams += [f"{prefix}{spec.name}.{workspace}" for workspace in workspaces]
    streams += foreign
    read = [name for stream in streams for name in (stream, replays(stream, group))]
    graves = [dead(stream, group) for stream in streams]
    touched = [*read, *(retry_states(name, group) for name in read), *graves]
    buries = f"+xadd {_keys(graves)}"
    clears = f"+del {_keys([retry_states(stream, group) for stream in streams])}"
    wakes = "+publish +subscribe +unsubscribe"
    about = f"service {group}: reads {', '.join(streams)}, moves failed entries to dead letters"
    return User(group, _rules(prefix, f"{wakes} +script|load", f"{_READS} {_keys(touched)}", buries, clears), about)


def _housekeeper(prefix: str) -> User:
    names = sorted({f"{prefix}{spec.name.partition('.')[0]}.*" for spec in STREAMS})
    own = f"+publish +subscribe +unsubscribe +info +time +scan +bgrewriteaof +bgsave +config|get {_keys(names)}"
    commands = "+@stream +exists +type +rename +del +hget +hset +hdel +hscan +memory|usage +evalsha +eval"
    return User("housekeeper", _rules(prefix, f"{own} {commands}"), "publishes events, trims and erases every stream")


def _api(prefix: str) -> User:
    counts = f"+evalsha +eval +hmget +hset +pexpire +time ~{prefix}{RATES}*"
    looks = "+xrange +xrevrange +evalsha +eval +xgroup|create +xgroup|destroy"
    watched = f"{_WATCHES} {looks} {_keys([f'{prefix}{spec.name}*' for spec in STREAMS])}"
    broadcasts = f"+xread %R~{prefix}{BROADCAST.name}.*"
    own = "+publish +subscribe +unsubscribe +info +time"
    about = "wakes services, counts requests, inspects streams, creates groups of external readers, reads broadcasts"
    return User("api", _rules(prefix, own, counts, watched, broadcasts), about)


def _scaler(prefix: str) -> User:
    streams = [f"{prefix}{spec.name}*" for spec in STREAMS if spec.groups]
    counts = f"+xlen +xpending +xinfo|groups {_keys(streams)}"
    return User(
        "scaler", _bare(f"+info ({counts})"), "counts what waits for a group, so that its service can be scaled"
    )


def _producer(prefix: str) -> User:
    streams = [f"{prefix}{spec.name}" for spec in (SUBMITTED, SIGNAL_RAISED, SIGNAL_ACKNOWLEDGED)]
    return User("producer", _appends(streams), "appends for any workspace, which it is trusted to name")


def _of_workspaces(prefix: str, workspaces: Sequence[str]) -> Iterator[User]:
    for workspace in workspaces:
        streams = [f"{prefix}{spec.name}.{workspace}" for spec in (SUBMITTED, SIGNAL_RAISED)]
        yield User(f"{_PRODUCER}{workspace}", _appends(streams), f"appends for the workspace {workspace} alone")
        yield _subscriber(prefix, workspace)


def _subscriber(prefix: str, workspace: str) -> User:
    read = f"+xread +xrange +xrevrange +xlen +xinfo|stream %R~{prefix}{BROADCAST.name}.{workspace}"
    says = f"+xadd ~{prefix}{SIGNAL_ACKNOWLEDGED.name}.{workspace}"
    about = f"reads the broadcast of the workspace {workspace}, at its own pace, and acknowledges"
    return User(f"subscriber-{workspace}", _bare(f"({read}) ({says})"), about)


def _appends(streams: Sequence[str]) -> str:
    return _bare(f"+xadd {_keys(streams)}")


def _bare(rules: str) -> str:
    return " ".join(f"resetkeys resetchannels -@all {_GREETING} {rules}".split())
