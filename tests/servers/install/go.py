"""Builds the tools that come as Go modules."""

import os
import shutil

from tests.servers.steps import Step, tool
from tests.servers.tools.go_tools import GO_TOOLS


def install(name: str, step: Step) -> None:
    """Build one tool into its folder, once."""
    wanted = GO_TOOLS[name]
    go = tool("go", "install Go 1.24 or later")
    step.say(f"building {wanted.package} {wanted.version} with Go")
    shutil.rmtree(wanted.folder, ignore_errors=True)
    wanted.folder.mkdir(parents=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOBIN": str(wanted.folder)}
    if wanted.source is None:
        step.run([go, "install", f"{wanted.package}@v{wanted.version}"], environment)
    else:
        shutil.copy(wanted.source, wanted.folder)
        inside = [go, "-C", str(wanted.folder)]
        step.run([*inside, "mod", "init", wanted.name], environment)
        step.run([*inside, "mod", "edit", "-require", f"{wanted.package}@v{wanted.version}"], environment)
        step.run([*inside, "build", "-mod=mod", "-o", wanted.program, "."], environment)
    wanted.stamp.write_text(wanted.built)
