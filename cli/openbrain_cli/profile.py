"""The OpenBrain that commands call, and the key for it. Only this module reads the command line's environment."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openbrain.domain.access.credentials import LOOPBACK, ORIGINAL_KEY_FILE, TRUE, address_of, checked_address, read_key
from openbrain.domain.errors import Invalid, SetupError, Unauthorised

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.settings import Loaded, Settings
    from openbrain_cli.agents.clients import Places
    from openbrain_cli.importers.locations.scanning import Homes

KEY_FILE = "key"
ADMIN_KEY_FILE = "admin-key"
URL_FILE = "url"


class NotRunning(SetupError):
    """No server is named, and none runs on this data folder now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Connection options: from the command line, else the environment, else what `openbrain up` wrote."""

    data_dir: Path
    environment: Mapping[str, str]
    url_option: str = ""
    key_file_option: Path | None = None

    @property
    def url(self) -> str:
        """The API's address. Raise `SetupError` if none is given."""
        address = self.url_option or self._env("OPENBRAIN_URL", "CORE_BRAIN_URL") or local_url(self.data_dir)
        if not address:
            if _is_closed(self.data_dir):
                from openbrain.adapters.local.data_folder import closed

                raise closed(self.data_dir)
            raise NotRunning(
                f"no OpenBrain runs on {self.data_dir}: start one with `openbrain up`, or name one with --url "
                "or OPENBRAIN_URL"
            )
        if "://" not in address:
            scheme = "http" if address.partition(":")[0] in LOOPBACK else "https"
            raise SetupError(f"{address!r} is not a URL: write it with its scheme, as {scheme}://{address}")
        return address

    def key(self, *, admin: bool = False) -> str:
        """The secret for `url`. This machine's own key is never sent to another machine.

        With `admin`, the key that can create workspaces, if `openbrain up` wrote one.
        """
        if self.key_file_option is not None:
            return read_key(self.key_file_option)
        if secret := self._env("OPENBRAIN_API_KEY", "CORE_BRAIN_KEY"):
            return secret
        if named := self._path("OPENBRAIN_KEY_FILE"):
            return read_key(named)
        if self._is_local():
            return read_key(self.data_dir / (ADMIN_KEY_FILE if admin else KEY_FILE))
        original = Path.home() / ORIGINAL_KEY_FILE
        if self._env("CORE_BRAIN_URL") and original.is_file():
            return read_key(original)
        raise Unauthorised(f"no key for {self.url}: give --key-file, or set OPENBRAIN_API_KEY or OPENBRAIN_KEY_FILE")

    def key_place(self, *, admin: bool = False) -> str:
        """Description of where `key` comes from."""
        if self.key_file_option is not None:
            return f"the key in {self.key_file_option}"
        for name in ("OPENBRAIN_API_KEY", "CORE_BRAIN_KEY"):
            if self._env(name):
                return f"the key in {name}"
        if named := self._env("OPENBRAIN_KEY_FILE"):
            return f"the key in {named} (OPENBRAIN_KEY_FILE)"
        own = self.data_dir / (ADMIN_KEY_FILE if admin else KEY_FILE)
        return f"the key in {own if self._is_local() else Path.home() / ORIGINAL_KEY_FILE}"

    def not_known(self, *, admin: bool = False) -> Unauthorised:
        """The error to show if the server refused the key."""
        return Unauthorised(
            f"{self.url} does not know {self.key_place(admin=admin)}: it is wrong, revoked or expired, or another "
            "OpenBrain's; name the right one with --key-file or OPENBRAIN_API_KEY"
        )

    @property
    def named(self) -> bool:
        """True if the user named an OpenBrain."""
        return bool(self.url_option or self._env("OPENBRAIN_URL", "CORE_BRAIN_URL"))

    @property
    def runs_here(self) -> bool:
        """True if `url` is the system that runs on this data folder."""
        local = local_url(self.data_dir)
        return bool(local) and self.url == local

    def check(self) -> None:
        """Raise `SetupError` or `Unauthorised` if the server's address or the key can't be used."""
        checked_address(self.url, allow_http=self.allows_http)
        self.key()

    def client(self, *, agent: str = "", admin: bool = False, **options: Any) -> "OpenBrain":
        from openbrain.client import OpenBrain

        key, whose = self.key(admin=admin), self._agent(agent)
        return OpenBrain(self.url, key, agent=whose, allow_http=self.allows_http, **options)

    def client_of_tools(self, *, agent: str = "") -> "OpenBrain":
        """A client for an agent's tools, with the rules of the original's bridge: the environment's org is the default,
        a response too large for a model is refused, and writes wait while the server is away."""
        from openbrain.client.outbox import Outbox
        from openbrain.domain.access.credentials import RESPONSE_BYTES

        given = self._env("OPENBRAIN_RESPONSE_BYTES") or str(RESPONSE_BYTES)
        if not (given.isascii() and given.isdigit() and int(given)):
            raise Invalid("OPENBRAIN_RESPONSE_BYTES", "must be a whole number of bytes, 1 or more")
        most = int(given)
        return self.client(agent=agent, response_bytes=most, org=self.org or "", outbox=Outbox(self.outbox(agent)))

    def outbox(self, agent: str) -> Path:
        """The file for waiting writes to one server, of one agent and one key. The key counts by its file's path, since
        the file may get another key, or by itself if it is in a variable."""
        server = self.url if self.named else "this machine's"
        in_variable = self.key_file_option is None and self._env("OPENBRAIN_API_KEY", "CORE_BRAIN_KEY")
        identity = "\n".join((server, in_variable or self.key_place(), self._agent(agent)))
        return self.data_dir / "outbox" / f"{sha256(identity.encode()).hexdigest()[:16]}.sqlite3"

    @property
    def org(self) -> str | None:
        """The default org of commands."""
        return self._env("OPENBRAIN_ORG", "CORE_BRAIN_ORG") or None

    @property
    def editor(self) -> list[str]:
        return shlex.split(self._env("VISUAL", "EDITOR")) or ["vi"]

    @property
    def names_editor(self) -> bool:
        """True if the user chose the editor, which may be a script that needs no terminal."""
        return bool(self._env("VISUAL", "EDITOR"))

    def homes(self) -> "Homes":
        """The folders in which the user's agents leave files."""
        from openbrain_cli.importers.locations.scanning import Homes

        return Homes(
            home=Path.home(),
            claude=self._path("CLAUDE_CONFIG_DIR") or Path.home() / ".claude",
            here=Path.cwd(),
            memory_override=self._path("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"),
        )

    def client_places(self, project: Path | None = None) -> "Places":
        """The locations of the configuration of the user's clients."""
        from openbrain_cli.agents.clients import Places

        home, claude = Path.home(), self._path("CLAUDE_CONFIG_DIR")
        openclaw = self._path("OPENCLAW_STATE_DIR") or home / ".openclaw"
        return Places(
            home=home,
            claude=claude or home / ".claude",
            claude_json=(claude or home) / ".claude.json",
            codex=self._path("CODEX_HOME") or home / ".codex",
            openclaw_json=self._path("OPENCLAW_CONFIG_PATH") or openclaw / "openclaw.json",
            project=project,
        )

    def settings(self) -> "Settings":
        """The settings of the system, with this data folder."""
        return settings_in_use().model_copy(update={"data_dir": self.data_dir})

    @property
    def allows_http(self) -> bool:
        """True if a key may be sent over plain HTTP."""
        return self._env("OPENBRAIN_ALLOW_HTTP", "CORE_BRAIN_INSECURE").lower() in TRUE

    def _is_local(self) -> bool:
        return self.url == local_url(self.data_dir) or address_of(self.url).hostname in LOOPBACK

    def _agent(self, named: str) -> str:
        return named or self._env("OPENBRAIN_AGENT_ID", "CORE_BRAIN_AGENT_ID")

    def _path(self, name: str) -> Path | None:
        return Path(value).expanduser() if (value := self._env(name)) else None

    def _env(self, *names: str) -> str:
        return next((value for name in names if (value := self.environment.get(name, "").strip())), "")


def profile(url: str = "", key_file: Path | None = None, data: Path | None = None) -> Profile:
    """Make a profile from a command's options and the environment."""
    folder = data.expanduser().resolve() if data is not None else settings_in_use().data_dir
    return Profile(data_dir=folder, environment=os.environ, url_option=url, key_file_option=key_file)


def local_url(data_dir: Path) -> str:
    """The address of the system that runs on that data folder; '' if it has noted none."""
    try:
        return (data_dir / URL_FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _is_closed(data_dir: Path) -> bool:
    """True if this user may not see what is in the folder."""
    try:
        (data_dir / URL_FILE).stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def debugging() -> bool:
    return os.environ.get("OPENBRAIN_DEBUG", "").lower() in TRUE


def use_settings_file(path: Path | None) -> None:
    """Use the file that `--config` names, in this process and those that it starts."""
    if path is not None:
        os.environ["OPENBRAIN_CONFIG"] = str(path.expanduser().absolute())


def settings_in_use() -> "Settings":
    """Settings from the environment and the settings file. Raise `SetupError` with the setting that can't be used."""
    return settings_loaded().settings


def settings_loaded() -> "Loaded":
    from pydantic import ValidationError

    from openbrain.settings import Settings, loaded
    from openbrain.settings.mistakes import no_setting

    try:
        return loaded()
    except ValidationError as error:
        from openbrain.domain.events.envelope import first_problem  # imported only on error, for a fast start

        field, message = first_problem(error)
        name = f"OPENBRAIN_{field.replace('.', '__').upper()}"
        if error.errors(include_input=False)[0]["type"] == "extra_forbidden":
            raise no_setting(Settings, name) from None
        raise SetupError(f"the setting {name} can't be used: {message}") from None
