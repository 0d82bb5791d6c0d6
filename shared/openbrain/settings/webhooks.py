"""Settings of webhooks."""

from pydantic import Field

from openbrain.domain.errors import Forbidden
from openbrain.settings.groups import Group
from openbrain.settings.tuning import WebhookTuning


class Webhooks(Group):
    """Webhooks of signals and of standing queries: posts to external addresses."""

    enabled: bool = Field(False, description="Whether webhooks can be created and are posted to.")
    hosts: tuple[str, ...] = Field(
        (), description="Hosts that may be posted to; `.example.org` allows every host below it. Empty: no host."
    )
    private_hosts: tuple[str, ...] = Field(
        (), description="Those of `hosts` that may have private addresses and may be contacted without TLS."
    )
    tuning: WebhookTuning = WebhookTuning()

    def require_enabled(self) -> None:
        """Raise `Forbidden` if webhooks are off."""
        if not self.enabled:
            raise Forbidden("webhooks are off here: an operator turns them on with OPENBRAIN_WEBHOOKS__ENABLED")
