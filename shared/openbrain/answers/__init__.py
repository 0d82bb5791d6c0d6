"""What the REST API answers, as frozen values: the OpenAPI document is made from these, the client returns them."""

from openbrain.answers.access import KeyAnswer, KeyCreated, KeyList, KeyRevoked, Whoami, WorkspaceAnswer, WorkspaceList
from openbrain.answers.base import Answer, Problem
from openbrain.answers.memories import (
    BatchItem,
    Forgotten,
    HistoryLine,
    Lineage,
    Listed,
    MemoryAnswer,
    MemoryDetail,
    Recalled,
    Remembered,
    RememberedBatch,
)
from openbrain.answers.state import Health, Live, Ready

__all__ = [
    "Answer",
    "BatchItem",
    "Forgotten",
    "Health",
    "HistoryLine",
    "KeyAnswer",
    "KeyCreated",
    "KeyList",
    "KeyRevoked",
    "Lineage",
    "Listed",
    "Live",
    "MemoryAnswer",
    "MemoryDetail",
    "Problem",
    "Ready",
    "Recalled",
    "Remembered",
    "RememberedBatch",
    "Whoami",
    "WorkspaceAnswer",
    "WorkspaceList",
]
