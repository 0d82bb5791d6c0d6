"""What recall of several questions takes."""

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from openbrain.domain import limits
from openbrain_api.requests.memories import Body

Questions = Annotated[
    list[Any],
    Field(min_length=1, max_length=limits.BATCH_QUESTIONS),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"$ref": "#/components/schemas/RecallBody"},
            "minItems": 1,
            "maxItems": limits.BATCH_QUESTIONS,
        }
    ),
]


class RecallBatchBody(Body):
    """Up to 50 questions; each is judged on its own."""

    queries: Questions

    @property
    def cost(self) -> int:
        """Two questions cost what one costs alone."""
        return (len(self.queries) + 1) // 2
