"""The command `openbrain`."""

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from openbrain.domain.errors import OpenBrainError
from openbrain_cli.lazy_commands import group_of, new_app
from openbrain_cli.profile import debugging
from openbrain_cli.system.shell import exit_codes

SECTIONS = {
    "Memories": {
        "remember": ("memories.remember:remember", "Store one memory."),
        "recall": ("memories.recall:recall", "Find memories that bear on a question, best first."),
        "search": ("memories.discovery:search", "Find memories by their words."),
        "list": ("memories.recall:list_memories", "List the newest memories."),
        "show": ("memories.recall:show", "Show one memory in full, whatever its state."),
        "tags": ("memories.discovery:tags", "Count the tags in use."),
        "scopes": ("memories.discovery:scopes", "Count memories by org and project."),
        "brief": ("memories.brief:brief", "Show what was decided, is stuck and has changed."),
        "feedback": ("memories.feedback:feedback", "Report which results of a recall were useful."),
        "update": ("memories.update:update", "Change one memory."),
        "history": ("memories.update:history", "Show the history of one memory."),
        "forget": ("memories.forget:forget", "Forget one memory, or all that match; their history stays."),
        "erase": ("memories.forget:erase", "Erase one memory; only the proof of that remains."),
        "restore": ("memories.update:restore", "Restore what was forgotten, archived or superseded."),
    },
    "Moving in and out": {
        "import": ("memories.import_files:import_files", "Import what agents left in files on this machine."),
        "export": ("memories.export:export", "Export memories as NDJSON; with an admin's key, all."),
        "publish": ("operators.streams.publish:publish", "Publish validated events on a stream."),
        "seed-memory": ("memories.import_files:seed_memory", "Old name for importing memory folders."),
    },
    "Agents and alarms": {
        "connect": ("agents.connect:connect", "Give a client's agent the tools, hooks and a key."),
        "hook": ("agents.hook:hook", "Handle an event of a coding agent; set up by `connect`."),
        "transcripts": ("agents.transcripts:transcripts", "Allow or forbid reading agents' transcripts."),
        "mcp": ("system.mcp:mcp", "Serve the brain's tools to an agent over stdio."),
        "context": ("agents.sessions:context", "Print an agent's boot context."),
        "sessions": ("agents.sessions:app", "Start, list and end an agent's sessions."),
        "messages": ("signals.messages:app", "Send and read messages between agents."),
        "watch": ("signals.watch:watch", "Show new memories about something as they are stored."),
        "signals": ("signals.signals:app", "Raise, list, acknowledge, resolve and follow alarms."),
        "halt": ("signals.halt:app", "Halt the fleet, see who has stopped, resume it."),
        "webhooks": ("signals.webhooks:app", "Post signals to other systems."),
        "vault": ("vault.vault:app", "Make a vault's folders, and arcs of sessions."),
        "brain": ("vault.brain:app", "The vault of a running brain: feed, pages, posts."),
        "tick": ("vault.tick:tick", "Run a vault tick now, or show what it would change."),
    },
    "Lifecycle of memories": {
        "review": ("operators.lifecycle.prune:review", "List old memories that no recall has found."),
        "prune": ("operators.lifecycle.prune:prune", "Archive memories that are uncertain, old or unused."),
        "brain:prune": ("operators.lifecycle.prune:prune", "Old name for prune."),
        "dedupe": ("operators.lifecycle.merge:dedupe", "Archive memories that say the same as another one."),
        "consolidate": ("operators.lifecycle.merge:consolidate", "Merge similar memories into one."),
        "brain:consolidate": ("operators.lifecycle.merge:consolidate", "Old name for consolidate."),
        "refile": ("operators.lifecycle.refile:refile", "Move memories to another project or org."),
        "backfill-org": (
            "operators.lifecycle.refile:backfill_org",
            "Give an org to memories that have a project but no org.",
        ),
        "brain:backfill-org": ("operators.lifecycle.refile:backfill_org", "Old name for backfill-org."),
        "policy": (
            "operators.lifecycle.policy:app",
            "Show and change scheduled lifecycle jobs and legal holds.",
        ),
        "clean": ("operators.lifecycle.clean:clean", "Mask personal data that is stored; unify names."),
        "brain:clean": ("operators.lifecycle.clean:clean", "Old name for clean."),
        "retention": ("operators.lifecycle.policy:retention", "Show what is removed after how many days."),
        "undo": ("operators.lifecycle.prune:undo", "Undo what an operation archived, merged or moved."),
    },
    "Running OpenBrain": {
        "up": ("system.up:up", "Start the entire pipeline on this machine."),
        "status": ("system.status:status", "Show what runs, where, since when, and its health."),
        "stop": ("system.stop:stop", "Stop what `openbrain up` started, and wait for its end."),
        "run": ("system.run:run", "Start one service as a process, as in production."),
        "doctor": ("system.diagnosis.doctor:doctor", "Test the running system end to end."),
        "settings": ("system.settings:settings", "Show the settings in use, or the reference of all."),
        "completion": ("system.shell.completion:completion", "Print the completion script of a shell."),
        "version": ("system.version:version", "Print the version."),
    },
    "Operating OpenBrain": {
        "workspaces": ("operators.workspaces:app", "Create and list workspaces, and change their quotas."),
        "keys": ("operators.keys:app", "Create, list, rotate and revoke keys."),
        "admin": ("operators.admin:app", "Operators' commands: workspaces, keys, operations."),
        "operations": ("operators.operations:app", "List, watch and cancel long-running work."),
        "top": ("operators.top.top:top", "Show the state of the pipeline, refreshed continuously."),
        "streams": ("operators.streams.streams:app", "Show streams and groups; pause and resume them."),
        "replay": ("operators.streams.replay:replay", "Deliver what a stream has kept to services again."),
        "dead": ("operators.streams.dead_letters:app", "List, show, replay and discard dead letters."),
        "verify": ("operators.indexes.verify:verify", "Compare every index with the database, and repair it."),
        "reindex": ("operators.indexes.reindex:reindex", "Rebuild the search indexes, or write memories again."),
        "index": ("operators.indexes.generations:app", "List, set up, switch and drop the search indexes."),
        "models": ("operators.indexes.models:app", "List embedding models, and change the one that serves."),
        "db": ("operators.db:app", "Upgrade the database's schema, or check it."),
        "acl": ("operators.streams.acl:acl", "Generate the stream server's users."),
        "schema": ("operators.streams.schema:schema", "Print the JSON Schema of events and the AsyncAPI document."),
        "elastic-setup": ("operators.indexes.generations:elastic_setup", "Old name for `index setup`."),
    },
}
"""Sections of `--help`, in its order: section -> command -> (module of this package:function, description)."""
COMMANDS = {
    name: (f"openbrain_cli.{target}", about)
    for section in SECTIONS.values()
    for name, (target, about) in section.items()
}

_NO_HOME = "Could not determine home directory"
"""The message of pathlib's error for the `~` of an unknown user, or without HOME."""
_NOT_UTF8 = "surrogates not allowed"
"""The message of the error for text that can't be sent: bytes of the command line that are not UTF-8."""

app = new_app(
    cls=group_of(SECTIONS),
    no_args_is_help=True,
    add_completion=True,
    help="Shared memory for a fleet of AI agents.\n\n\b\nStart here:\n"
    "  openbrain up                     everything on this machine; prints what to type next\n"
    '  openbrain remember "..."         store what you learned\n'
    '  openbrain recall "..."           find what anyone learned\n'
    "  openbrain COMMAND --help         options and examples",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import openbrain

        print(openbrain.__version__)
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]


def _use_config(path: Path | None) -> None:
    from openbrain_cli.profile import use_settings_file

    use_settings_file(path)


Config = Annotated[
    Path | None,
    typer.Option(callback=_use_config, is_eager=True, help="Settings file; else ~/.openbrain/openbrain.toml."),
]


@app.callback()
def root(version: Version = False, config: Config = None) -> None:
    """Options before the command."""


def main() -> NoReturn:
    """Run a command. Every error is one line on stderr and an exit code, never a traceback."""
    os.umask(0o077)  # new files are private to their owner; pages of a vault take their folder's mode
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace", line_buffering=True)  # who reads a pipe sees each line at once
    try:
        app()
    except OpenBrainError as error:
        _fail(str(error), exit_codes.of(error))
    except KeyboardInterrupt:
        sys.exit(exit_codes.INTERRUPTED)
    except BrokenPipeError:
        _drop_unwritten()  # the reader has closed its end
        sys.exit(exit_codes.REFUSED)
    except OSError as error:
        if debugging():
            traceback.print_exc()
        _drop_unwritten()
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or type(error).__name__}", exit_codes.SETUP)
    except Exception as error:  # noqa: BLE001 - last resort: never show a traceback
        if debugging():
            traceback.print_exc()
        if _NO_HOME in str(error):
            _fail("no home folder is known for a path with `~`: write the path in full, or set HOME", exit_codes.SETUP)
        if _NOT_UTF8 in str(error):
            _fail("a text holds bytes or characters that are not UTF-8: correct it", exit_codes.REFUSED)
        _fail(f"internal error ({type(error).__name__}): set OPENBRAIN_DEBUG=1 to see where", exit_codes.INTERNAL)
    sys.exit(exit_codes.OK)


def _open_closed_streams() -> None:
    """Give each standard stream that the caller has closed the empty device: else the next opened file or connection
    takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - stays open


def _drop_unwritten() -> None:
    """Drop output that can't be written: at exit Python would try again, and change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> NoReturn:
    from openbrain_cli.output import plain

    with suppress(OSError):  # the code counts even if nobody can read the message
        print(f"openbrain: {plain(message)}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
