"""Whether the indexes are what the store says."""

from openbrain.client.wire import Wire
from openbrain.contract.admin.operations import OperationAnswer


class Verifying:
    """Methods of the client that hold the indexes against the truth."""

    _wire: Wire

    async def verify(self, *, full: bool = False, repair: bool = False, restored: bool = False) -> OperationAnswer:
        """Begin it (needs an admin key of the workspace `system`): watch the operation, its result tells what differs.

        `full`: every entry, also where the sums agree. `repair`: make the indexes equal. `restored`: the database was
        put back; everything is indexed again.
        """
        body = {"full": full, "repair": repair, "restored": restored}
        return await self._wire.ask(OperationAnswer, "POST", "/v1/admin/verify", body=body, well=(202,))
