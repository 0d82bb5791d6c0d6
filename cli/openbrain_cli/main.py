"""The command `openbrain`."""

import os
import sys
import traceback
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
        "recall": ("memories.recall:recall", "Find what bears on a question, best first."),
        "search": ("memories.discovery:search", "Find memories by their words."),
        "list": ("memories.recall:list_memories", "List the newest memories."),
        "show": ("memories.recall:show", "Show one memory whole, dead or alive."),
        "tags": ("memories.discovery:tags", "Count the tags in use."),
        "scopes": ("memories.discovery:scopes", "Count memories by org and project."),
        "brief": ("memories.brief:brief", "Tell what was decided, what is stuck, what changed."),
        "feedback": ("memories.feedback:feedback", "Say which results of a recall were of use."),
        "update": ("memories.update:update", "Change one memory."),
        "history": ("memories.update:history", "Tell what happened to one memory."),
        "forget": ("memories.forget:forget", "End one memory, or all that match; their history stays."),
        "erase": ("memories.forget:erase", "Leave nothing of one memory but the proof."),
        "restore": ("memories.update:restore", "Bring back what was forgotten, archived or superseded."),
    },
    "Moving in and out": {
        "import": ("memories.import_files:import_files", "Import what agents left in files on this machine."),
        "export": ("memories.export:export", "Write memories as NDJSON; with an admin's key, all."),
        "publish": ("operators.streams.publish:publish", "Put validated events on a stream."),
        "seed-memory": ("memories.import_files:seed_memory", "The original's name for importing memory folders."),
    },
    "Agents and alarms": {
        "connect": ("agents.connect:connect", "Give a client's agent the tools, hooks and a key."),
        "hook": ("agents.hook:hook", "Answer an event of a coding agent; written by `connect`."),
        "transcripts": ("agents.transcripts:transcripts", "May agents' transcripts be read? on or off."),
        "mcp": ("system.mcp:mcp", "Serve the brain's tools to an agent over stdio."),
        "context": ("agents.sessions:context", "Print what an agent reads when it begins."),
        "sessions": ("agents.sessions:app", "Start, list and end an agent's sessions."),
        "messages": ("signals.messages:app", "Send and read messages between agents."),
        "watch": ("signals.watch:watch", "Show new memories about something, as they come."),
        "signals": ("signals.signals:app", "Raise, list, acknowledge, resolve and hear alarms."),
        "halt": ("signals.halt:app", "Halt the fleet, see who has stopped, let it go on."),
        "webhooks": ("signals.webhooks:app", "Post signals to other systems."),
        "vault": ("vault.vault:app", "Make a vault's folders, and arcs of sessions."),
        "brain": ("vault.brain:app", "The vault of a running brain: feed, pages, posts."),
        "tick": ("vault.tick:tick", "Keep the vault now, or show what that would change."),
    },
    "A memory's whole life": {
        "review": ("operators.lifecycle.prune:review", "List what is old and was found by no recall."),
        "prune": ("operators.lifecycle.prune:prune", "Archive what is not sure enough, old, or of no use."),
        "brain:prune": ("operators.lifecycle.prune:prune", "The original's name for prune."),
        "dedupe": ("operators.lifecycle.merge:dedupe", "Archive what says the same as another memory."),
        "consolidate": ("operators.lifecycle.merge:consolidate", "Merge memories about the same into one."),
        "brain:consolidate": ("operators.lifecycle.merge:consolidate", "The original's name for consolidate."),
        "refile": ("operators.lifecycle.refile:refile", "Move memories to another project or org."),
        "backfill-org": (
            "operators.lifecycle.refile:backfill_org",
            "Give an org to memories that have a project and none.",
        ),
        "brain:backfill-org": ("operators.lifecycle.refile:backfill_org", "The original's name for backfill-org."),
        "policy": (
            "operators.lifecycle.policy:app",
            "Show and change what runs by itself, and what a legal hold keeps.",
        ),
        "clean": ("operators.lifecycle.clean:clean", "Mask personal data that is stored already, spell names alike."),
        "brain:clean": ("operators.lifecycle.clean:clean", "The original's name for clean."),
        "retention": ("operators.lifecycle.policy:retention", "Show what leaves after how many days."),
        "undo": ("operators.lifecycle.prune:undo", "Put back what an operation archived, merged or filed elsewhere."),
    },
    "Running it": {
        "up": ("system.up:up", "Start the whole pipeline on this machine."),
        "status": ("system.status:status", "Tell what runs, where, since when, and how it is."),
        "stop": ("system.stop:stop", "End what `openbrain up` started, and wait until it has."),
        "run": ("system.run:run", "Start one service as a process, as in production."),
        "doctor": ("system.diagnosis.doctor:doctor", "Prove the running system end to end."),
        "settings": ("system.settings:settings", "Show the settings in use, or the reference of all."),
        "completion": ("system.shell.completion:completion", "Print the script by which a shell completes commands."),
        "version": ("system.version:version", "Print the version."),
    },
    "Operating it": {
        "workspaces": ("operators.workspaces:app", "Make and list workspaces, and change their quotas."),
        "keys": ("operators.keys:app", "Make, list, rotate and revoke keys."),
        "admin": ("operators.admin:app", "What operators do: workspaces, keys, operations."),
        "operations": ("operators.operations:app", "List, watch and cancel work that outlives a request."),
        "top": ("operators.top.top:top", "Show at a glance what the pipeline does, again and again."),
        "streams": ("operators.streams.streams:app", "Show streams and groups; pause and resume them."),
        "replay": ("operators.streams.replay:replay", "Give services again what a stream has kept."),
        "dead": ("operators.streams.dead_letters:app", "List, show, replay and discard dead letters."),
        "verify": ("operators.indexes.verify:verify", "Hold every index against the database, and repair it."),
        "reindex": ("operators.indexes.reindex:reindex", "Make the search indexes anew, or write memories again."),
        "index": ("operators.indexes.generations:app", "Show, make, switch and drop the search indexes."),
        "models": ("operators.indexes.models:app", "List embedding models, and change the one that serves."),
        "db": ("operators.db:app", "Bring the database's schema up to date, or check it."),
        "acl": ("operators.streams.acl:acl", "Make the stream server's users."),
        "schema": ("operators.streams.schema:schema", "Print the JSON Schema of events and the AsyncAPI document."),
        "elastic-setup": ("operators.indexes.generations:elastic_setup", "The original's name for `index setup`."),
    },
}
"""Sections of `--help`, in its order: section -> command -> (module of this package:function, description)."""
COMMANDS = {
    name: (f"openbrain_cli.{target}", about)
    for section in SECTIONS.values()
    for name, (target, about) in section.items()
}

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
    typer.Option(callback=_use_config, is_eager=True, help="Settings; else ~/.openbrain/openbrain.toml."),
]


@app.callback()
def root(version: Version = False, config: Config = None) -> None:
    """Options that stand before a command."""


def main() -> NoReturn:
    """Run; every error is one clear line on stderr and an exit code, never a traceback."""
    os.umask(0o077)  # what is stored is its owner's; pages of a vault take the rights of their folder
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app()
    except OpenBrainError as error:
        _fail(str(error), exit_codes.of(error))
    except KeyboardInterrupt:
        sys.exit(exit_codes.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read us has seen enough; nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(exit_codes.REFUSED)
    except Exception as error:  # noqa: BLE001 - the last line of defence: nobody is shown a traceback
        if debugging():
            traceback.print_exc()
        _fail(f"internal error ({type(error).__name__}): set OPENBRAIN_DEBUG=1 to see where", exit_codes.INTERNAL)
    sys.exit(exit_codes.OK)


def _fail(message: str, code: int) -> NoReturn:
    from openbrain_cli.output import plain

    print(f"openbrain: {plain(message)}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
