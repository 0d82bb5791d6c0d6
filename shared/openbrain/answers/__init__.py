"""What the REST API answers, as frozen values: the OpenAPI document is made from these, the client returns them."""

from openbrain.answers.access import (
    KeyAnswer,
    KeyCreated,
    KeyList,
    KeyRevoked,
    KeyRotated,
    Whoami,
    WorkspaceAnswer,
    WorkspaceList,
)
from openbrain.answers.base import Answer, Problem
from openbrain.answers.discovery import Highlight, ScopeCount, ScopeCounts, Searched, SearchHit, TagCounts, ValueCount
from openbrain.answers.memories import (
    BatchItem,
    Ended,
    Explanation,
    Forgotten,
    HistoryLine,
    IndexShare,
    Lineage,
    Listed,
    MemoryAnswer,
    MemoryDetail,
    Recalled,
    Remembered,
    RememberedBatch,
)
from openbrain.answers.operations import BulkEnded, OperationAnswer, OperationList, WorkspaceDeleted
from openbrain.answers.state import Health, Live, Ready
from openbrain.answers.transfer import Imported, RefusedLine

__all__ = [
    "Answer",
    "BatchItem",
    "BulkEnded",
    "Ended",
    "Explanation",
    "Forgotten",
    "Health",
    "Highlight",
    "HistoryLine",
    "Imported",
    "IndexShare",
    "KeyAnswer",
    "KeyCreated",
    "KeyList",
    "KeyRevoked",
    "KeyRotated",
    "Lineage",
    "Listed",
    "Live",
    "MemoryAnswer",
    "MemoryDetail",
    "OperationAnswer",
    "OperationList",
    "Problem",
    "Ready",
    "Recalled",
    "RefusedLine",
    "Remembered",
    "RememberedBatch",
    "ScopeCount",
    "ScopeCounts",
    "SearchHit",
    "Searched",
    "TagCounts",
    "ValueCount",
    "Whoami",
    "WorkspaceAnswer",
    "WorkspaceDeleted",
    "WorkspaceList",
]
