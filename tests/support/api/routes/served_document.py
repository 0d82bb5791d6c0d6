"""The OpenAPI document as a process serves it; made once for all workers, because it takes half a second."""

import json
from typing import Any

from openbrain_api.app import _document

DOCUMENT: dict[str, Any] = json.loads(_document().plain)
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
