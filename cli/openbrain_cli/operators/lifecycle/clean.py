"""clean: masks and normalises what is stored already."""

from typing import Annotated

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.lifecycle.selected import Mode, Selected, carried_out, report
from openbrain_cli.options import Connection, given
from openbrain_cli.output import as_json, say

StripPii = Annotated[
    bool, typer.Option("--strip-pii", help="Mask e-mail addresses, telephone numbers, cards, accounts and the like.")
]
StripSecrets = Annotated[bool, typer.Option("--strip-secrets", help="Mask keys, tokens, passwords.")]
Normalise = Annotated[
    bool, typer.Option("--normalise", help="Normalise texts; spell tags and projects as most memories do.")
]

_BESIDE = {"others": "cleaned elsewhere", "submissions": "removed from streams", "pages": "cleaned in the vault"}


@command(
    "openbrain clean --strip-pii",
    "openbrain clean --strip-pii --normalise --project shop --yes",
    "openbrain brain:clean --strip-pii --dry-run",
)
def clean(
    *,
    mode: Mode,
    to: Connection,
    selected: Selected,
    strip_pii: StripPii = False,
    strip_secrets: StripSecrets = False,
    normalise: Normalise = False,
) -> None:
    """Mask personal data and secrets that are stored already, and unify the spelling of names. Can't be undone.

    Findings are shown by kind and place, never by value. Memories in every state, their history, messages, dead letters
    and the vault are cleaned; indexes, streams and files follow shortly. Needs an admin's key.
    """
    if not (strip_pii or strip_secrets or normalise):
        raise Invalid("", "say what to clean: --strip-pii, --strip-secrets, --normalise")
    rules = given(strip_pii=strip_pii or None, strip_secrets=strip_secrets or None, normalise=normalise or None)
    operation = carried_out(
        to, lambda brain: brain.clean(dry_run=mode.looks, **selected.filters(), **rules), detach=mode.detach
    )
    if mode.json:
        as_json(operation)
        return
    for what, number in operation.result.get("found", {}).items():
        place, _, kind = what.partition(": ")
        print(f"{number:>8}  {kind} in {place}")
    report(operation, dry_run=mode.looks, undoable=False, words=_BESIDE)
    if mode.looks:
        say("what --yes does can't be undone")
