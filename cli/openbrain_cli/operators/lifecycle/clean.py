"""clean: what is stored already is put right."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.lifecycle.selected import Detach, DryRun, Selected, Yes, ended, report
from openbrain_cli.options import AsJson, Connection, given
from openbrain_cli.output import as_json, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.operations import OperationAnswer

StripPii = Annotated[
    bool, typer.Option("--strip-pii", help="E-mail addresses, telephone numbers, cards, accounts and the like.")
]
StripSecrets = Annotated[bool, typer.Option("--strip-secrets", help="Keys, tokens, passwords.")]
Normalise = Annotated[
    bool, typer.Option("--normalise", help="One form of texts; tags and projects in the spelling that most have.")
]

_BESIDE = {"others": "cleaned beside them", "submissions": "taken out of streams", "pages": "cleaned in the vault"}


@command(
    "openbrain clean --strip-pii",
    "openbrain clean --strip-pii --normalise --project shop --yes",
    "openbrain brain:clean --strip-pii --dry-run",
)
def clean(
    *,
    to: Connection,
    selected: Selected,
    strip_pii: StripPii = False,
    strip_secrets: StripSecrets = False,
    normalise: Normalise = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Mask personal data and secrets that are stored already, and spell names alike. Can't be undone.

    What is found is shown by kind and place, never by its value. Memories in every state, their history, messages, dead
    letters and the vault are cleaned; indexes, streams and files follow in a moment. Needs an admin's key.
    """
    if not (strip_pii or strip_secrets or normalise):
        raise Invalid("", "say what to clean: --strip-pii, --strip-secrets, --normalise")
    looks = dry_run or not yes
    rules = given(strip_pii=strip_pii or None, strip_secrets=strip_secrets or None, normalise=normalise or None)

    async def work(brain: "OpenBrain") -> "OperationAnswer":
        return await ended(brain, await brain.clean(dry_run=looks, **selected.filters(), **rules), wait=not detach)

    operation = to.ask(work)
    if json:
        as_json(operation)
        return
    for what, number in operation.result.get("found", {}).items():
        place, _, kind = what.partition(": ")
        print(f"{number:>8}  {kind} in {place}")
    report(operation, dry_run=looks, undoable=False, words=_BESIDE)
    if looks:
        say("what --yes does can't be undone")
