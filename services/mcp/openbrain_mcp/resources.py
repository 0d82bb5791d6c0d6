"""Resources: one memory by its id."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError
from mcp_types import TextContent

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.text.displayed import plain
from openbrain_mcp.tools import answers

if TYPE_CHECKING:
    from openbrain.client import OpenBrain

MEMORY = "memory://{id}"


def add(server: MCPServer[Any], clients: "Callable[[Any], Awaitable[OpenBrain]]") -> None:
    """Add the resources to the server. They are read with the caller's client."""

    async def memory(id: str, ctx: Context) -> str:
        try:
            detail = await (await clients(ctx.request_context.request)).memory(id)
        except OpenBrainError as error:
            raise ResourceError(plain(str(error))) from None
        return "".join(part.text for part in answers.memory_detail(detail).content if isinstance(part, TextContent))

    server.resource(
        MEMORY,
        name="memory",
        title="A memory",
        description="One memory whole, with its provenance, as data. Answers of the tools name ids.",
        mime_type="text/plain",
    )(memory)
