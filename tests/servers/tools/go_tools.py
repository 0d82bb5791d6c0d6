"""Programs that read the deployment files as an operator's tools do, each built from a Go module."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME


@dataclass(frozen=True)
class GoTool:
    """One program of a Go module."""

    name: str
    package: str
    version: str
    program: str
    source: Path | None = None
    """A program of ours that uses the module; None: the package itself is the program."""

    @property
    def folder(self) -> Path:
        return HOME / self.name

    @property
    def path(self) -> Path:
        return self.folder / self.program

    @property
    def stamp(self) -> Path:
        return self.folder / "stamp"

    @property
    def built(self) -> str:
        """Stamp of the program as it would be built now."""
        text = b"" if self.source is None else self.source.read_bytes()
        return self.version + (f" {hashlib.sha256(text).hexdigest()[:12]}" if text else "")

    def state(self) -> State:
        if self.stamp.exists() and self.stamp.read_text() == self.built:
            return Available(self.version)
        return Missing("it isn't built here yet: run `make servers` (needs Go, takes a minute once)")


# Compose's own loader: prints the resolved project of a profile, and refuses what Compose refuses.
COMPOSE = GoTool(
    "compose",
    "github.com/compose-spec/compose-go/v2",
    "2.16.2",
    "load",
    Path(__file__).parents[1] / "install" / "compose" / "main.go",
)
KUSTOMIZE = GoTool("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "5.5.0", "kustomize")
GO_TOOLS = {tool.name: tool for tool in (COMPOSE, KUSTOMIZE)}


def compose_state() -> State:
    return COMPOSE.state()


def kustomize_state() -> State:
    """Return whether a renderer is available: kubectl includes one."""
    if shutil.which("kubectl"):
        return Available("kubectl")
    built = KUSTOMIZE.state()
    return Missing(f"no kubectl on this machine, and {built.reason}") if isinstance(built, Missing) else built


def render_command() -> list[str]:
    """Return the command that renders the kustomization in the folder appended to it."""
    kubectl = shutil.which("kubectl")
    return [kubectl, "kustomize"] if kubectl else [str(KUSTOMIZE.path), "build"]
