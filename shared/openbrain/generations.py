"""Which index serves: made when there is none, checked against what this process would write."""

from openbrain.errors import SetupError
from openbrain.ports.embedder import ModelIdentity
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.truth import Generation, Generations, IndexKind

SERVING = "serving"


async def text_generation(truth: Generations, index: TextIndex, first_name: str) -> Generation:
    """The serving full-text generation, ready to be written. `first_name` names it where there is none yet."""
    wanted = Generation(
        kind=IndexKind.TEXT, name=first_name, model="", dimensions=0, builder=index.builder, status=SERVING
    )
    generation = await truth.ensure(wanted)
    _same_builder(generation, index.builder)
    await index.prepare(generation.name)
    return generation


async def vector_generation(
    truth: Generations, index: VectorIndex, identity: ModelIdentity, first_name: str
) -> Generation:
    """The serving vector generation, ready to be written, for the process that knows the model."""
    wanted = Generation(
        kind=IndexKind.VECTOR,
        name=f"{first_name}-{identity.key}",
        model=identity.key,
        dimensions=identity.dimensions,
        builder=index.builder,
        status=SERVING,
    )
    generation = await truth.ensure(wanted)
    if generation.dimensions != identity.dimensions:
        raise SetupError(
            f"the vector index holds {generation.dimensions} dimensions and {identity.name} has {identity.dimensions}: "
            "set the embedding model that the index was made with"
        )
    if generation.model != identity.key:
        raise SetupError(
            f"the vector index was made with {generation.model} and the embedder is {identity.key}: "
            "set the embedding model that the index was made with"
        )
    _same_builder(generation, index.builder)
    await index.prepare(generation.name, generation.dimensions)
    return generation


def _same_builder(generation: Generation, builder: str) -> None:
    if generation.builder != builder:
        raise SetupError(
            f"the {generation.kind} index {generation.name} was built by {generation.builder} and this version writes "
            f"{builder}: run the version that built it, or point the settings at a new index"
        )
