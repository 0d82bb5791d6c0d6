"""Arguments that clients send as JSON within text."""

from typing import Any

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from pydantic import ValidationError


class JsonArguments(FuncMetadata):
    """Like the SDK's, but text that happens to be JSON stays text where nothing else is taken."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        parsed = super().pre_parse_json(data)
        if parsed == data:
            return data
        try:
            self.arg_model.model_validate(parsed)
        except ValidationError as error:
            refused = {item["loc"][0] for item in error.errors(include_input=False, include_url=False) if item["loc"]}
            return {name: data[name] if name in refused else value for name, value in parsed.items()}
        return parsed
