"""What commands and services import, in the process that they are forked from."""

import gc
import importlib

_IMPORTED = (
    *("openbrain_ingest.app", "openbrain_embedder.app", "openbrain_indexer.app", "openbrain_housekeeper.app"),
    *("openbrain_api.app", "openbrain_tick.app", "openbrain_amygdala.app", "openbrain_mcp.http"),
    *("openbrain_cli.main", "openbrain_cli.run", "openbrain_cli.up", "openbrain_cli.system", "openbrain_cli.serving"),
    *("openbrain.adapters.elasticsearch_text", "openbrain.adapters.elasticsearch_vectors", "openbrain.adapters.ollama"),
    *("openbrain.adapters.tantivy_text", "openbrain.adapters.qdrant_edge_vectors", "openbrain.adapters.minilm"),
    *("openbrain.adapters.sql.truth", "openbrain.adapters.redis_rates", "openbrain.streams.wake", "openbrain.client"),
    *("uvloop", "aiomysql", "aiosqlite", "aiohttp", "uvicorn", "httptools", "onnxruntime", "tokenizers"),
    *("tests.support.processes.forked", "rich.console", "rich.table"),
)

for _name in _IMPORTED:
    importlib.import_module(_name)
# What stands now is never collected, so that the pages of the parent stay shared.
gc.collect()
gc.freeze()
