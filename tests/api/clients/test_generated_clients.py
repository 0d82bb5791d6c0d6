"""Clients that third-party generators make from the OpenAPI document can remember and recall."""

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers.plugin import need
from tests.servers.tools.npm_clients import OPENAPI_TYPESCRIPT
from tests.servers.tools.python_clients import OPENAPI_PYTHON_CLIENT
from tests.support.api.brain import Brain
from tests.support.api.served import served
from tests.support.processes.finished import finished

PROGRAMS = Path(__file__).parents[2] / "samples" / "generated_clients"
COMPILER = {"strict": True, "module": "nodenext", "target": "es2022", "lib": ["es2022", "dom"], "types": []}
COMPILER["skipDefaultLibCheck"] = True  # it was checked before it was released
# The generator does not support NDJSON, and would omit exports and imports with a warning.
SETTINGS = {"content_type_overrides": {"application/x-ndjson": "application/octet-stream"}, "post_hooks": []}


async def typescript(folder: Path, url: str, key: str) -> str:
    node = shutil.which("node") or "node"
    modules = OPENAPI_TYPESCRIPT.folder / "node_modules"
    (folder / "node_modules").symlink_to(modules)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": COMPILER, "files": ["client.ts"]}))
    shutil.copy(PROGRAMS / "client.ts", folder)
    await finished([node, OPENAPI_TYPESCRIPT.program, f"{url}/openapi.json", "-o", "brain.d.ts"], folder)
    await finished([node, str(modules / "typescript" / "bin" / "tsc")], folder)
    return await finished([node, "client.js", url, key], folder)


async def python(folder: Path, url: str, key: str) -> str:
    interpreter = str(OPENAPI_PYTHON_CLIENT.folder / "bin" / "python")
    (folder / "config.json").write_text(json.dumps(SETTINGS))
    shutil.copy(PROGRAMS / "client.py.txt", folder / "client.py")
    generate = (interpreter, "-m", "openapi_python_client", "generate", "--url", f"{url}/openapi.json")
    options = ("--meta", "none", "--output-path", "brain", "--config", "config.json", "--fail-on-warning")
    await finished([*generate, *options], folder)
    return await finished([interpreter, "client.py", url, key], folder)


_COMPILED = pytest.mark.long("test_typescript_client.py compiles what the same generator makes, and uses more of it")


@pytest.mark.slow("generators, and TypeScript's compiler, go through all routes")
@pytest.mark.parametrize(
    ("name", "client"),
    [
        pytest.param("openapi-typescript", typescript, marks=[pytest.mark.servers("openapi-typescript"), _COMPILED]),
        pytest.param("openapi-python-client", python, marks=pytest.mark.servers("openapi-python-client")),
    ],
    ids=["openapi-typescript", "openapi-python-client"],
)
async def test_a_generated_client_remembers_and_recalls(
    brain: Brain, tmp_path: Path, name: str, client: Callable[[Path, str, str], Awaitable[str]]
) -> None:
    need(name)
    key = await brain.key()
    async with brain.services(), served(brain.app()) as url:
        said: Any = json.loads(await client(tmp_path, url, key))

    stored = said["stored"]
    assert (await brain.store.memories.rows([stored]))[stored].content == "Deploys are on Tuesdays."
    expected = {"stored": stored, "duplicate": False, "found": [stored], "refused": "query", "listed": [True]}
    assert said == expected
