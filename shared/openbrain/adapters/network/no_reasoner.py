"""No model: ticks are deterministic."""

from openbrain.ports.index import Checked
from openbrain.ports.models import Question, Thought


class NoReasoner:
    """Port `Reasoner`."""

    async def reason(self, question: Question) -> Thought | None:  # noqa: ARG002 - nobody is there to read it
        return None

    async def check(self) -> Checked:
        return Checked("no reasoner", "", ())

    async def close(self) -> None:
        """Nothing is open."""
