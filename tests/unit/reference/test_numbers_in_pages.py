"""Numbers that the pages state are those of the code."""

import re
from pathlib import Path

import pytest

from openbrain.domain import limits
from openbrain.settings import Settings
from openbrain.settings.tuning import ServerTuning
from openbrain.vault import limits as vault_limits
from openbrain.vault.markers import session_marks
from openbrain.vault.pages.bodies import BODY_CHARS
from openbrain_api.discovery import by_words, fragments
from openbrain_api.discovery import question as discovery_question
from openbrain_api.memories.context import gathering
from openbrain_api.recall.hits import around
from openbrain_cli.agents.hooks import events
from openbrain_cli.importers import file_reading
from openbrain_cli.importers.locations import default_locations
from openbrain_housekeeper.handlers.lifecycle import job
from openbrain_housekeeper.jobs import operations
from openbrain_mcp.tools import answers

DOCS = Path(__file__).parents[3] / "docs"
SETTINGS = Settings()
STREAMS, KEEPING = SETTINGS.streams, SETTINGS.housekeeping
DAY = 86_400

STATED = [
    ("how-to/lifecycle.md", r"within a step of (\d+) memories", job.PAGE),
    ("how-to/lifecycle.md", r"the counts and the first (\d+) examples", job.EXAMPLES),
    ("how-to/lifecycle.md", r"put back all of that run, within (\d+) days", KEEPING.tuning.undo_days),
    ("how-to/erase.md", r"taken over by another after (\d+) seconds", operations.HOLD_S),
    ("how-to/erase.md", r"the workspace's id, for (\d+) days", KEEPING.tuning.operation_days),
    ("how-to/search.md", r"Any text up to ([\d,]+) characters is a query", limits.QUERY_CHARS),
    ("how-to/search.md", r"Phrases beyond the first (\d+)", discovery_question.PHRASES),
    ("how-to/search.md", r"`source`; (\d+) values each", discovery_question.FACET_VALUES),
    ("how-to/search.md", r"memories, at most (\d+) hits", by_words.MOST),
    ("how-to/search.md", r"the newest ([\d,]+) visible", SETTINGS.recall.tuning.degraded_scan),
    ("how-to/search.md", r'`"around": 2` \(at most (\d+);', limits.AROUND),
    ("how-to/search.md", r"At most ([\d,]+) characters of a turn", around.TURN_CHARS),
    ("how-to/search.md", r"and ([\d,]+) of an answer, best hits", around.ANSWER_CHARS),
    ("how-to/mcp.md", r"show the first (\d+) characters of each memory", answers.LISTED_CHARS),
    ("how-to/mcp.md", r"of each memory, a recall ([\d,]+)", answers.RECALLED_CHARS),
    ("how-to/connect.md", r"similarity to the prompt is ([\d.]+) or more", events.FLOOR),
    ("how-to/thoughts.md", r"stores up to (\d+) in order", limits.BATCH_ITEMS),
    ("how-to/thoughts.md", r"Up to ([\d,]+) characters; above", limits.THOUGHT_CHARS),
    ("how-to/thoughts.md", r"above ([\d,]+) it is stored in parts", limits.CONTENT_CHARS),
    ("how-to/standing-queries.md", r"\*\*Limits\*\*: (\d+) subscriptions a key", limits.KEY_SUBSCRIPTIONS),
    ("how-to/standing-queries.md", r"a key, ([\d,]+) a workspace", limits.WORKSPACE_SUBSCRIPTIONS),
    ("how-to/vault-clients.md", r"and files above (\d+) MiB", SETTINGS.vaults.tuning.file_kb / 1024),
    ("how-to/vault-clients.md", r"waits (\d+) s for its turn", SETTINGS.vaults.tuning.wait_s),
    ("how-to/vault-clients.md", r"more than (\d+) KiB, more than", vault_limits.FRONT_CHARS / 1024),
    ("how-to/vault-clients.md", r"more than ([\d,]+) values with", vault_limits.FRONT_NODES),
    ("how-to/vault-clients.md", r"or more than (\d+) levels", vault_limits.FRONT_DEPTH),
    ("how-to/webhooks.md", r"no answer within (\d+) s", SETTINGS.webhooks.tuning.timeout_s),
    ("how-to/upgrade.md", r"`OPENBRAIN_STREAMS__LEASE_S`, (\d+) s", STREAMS.lease_s),
    ("how-to/upgrade.md", r"current batch \((\d+) s at most\)", STREAMS.tuning.shutdown_s),
    ("how-to/back-pressure.md", r"OUTBOX_LIMIT` \| ([\d,]+) \|", KEEPING.outbox_limit),
    ("how-to/back-pressure.md", r"MEMORY_SHARE` \| ([\d.]+) \|", STREAMS.memory_share),
    ("how-to/back-pressure.md", r"MEMORY_MB` \| (\d+) \|", STREAMS.memory_mb),
    ("how-to/back-pressure.md", r"DEAD_RETENTION_S` \| (\d+) days", STREAMS.dead_retention_s / DAY),
    ("how-to/back-pressure.md", r"RESERVE_MB` \| (\d+) \|", SETTINGS.disk_reserve_mb),
    ("how-to/verify.md", r"Every (\d+) s the housekeeper", KEEPING.tuning.reconcile_every_s),
    ("reference/agents.md", r"may have ([\d,]+) unread messages", limits.UNREAD_MESSAGES),
    ("reference/agents.md", r"MESSAGE_DAYS` \((\d+)\) days", KEEPING.tuning.message_days),
    ("reference/agents.md", r"text is cut at ([\d,]+) characters", gathering.CHARS),
    ("reference/agents.md", r"other types: (\d+) of each", gathering.RECENT),
    ("reference/agents.md", r"the latest (\d+) memories of `session_id`", 2 * gathering.RECENT),
    ("reference/agents.md", r"KEPT_DAYS`, (\d+)\)", SETTINGS.recall.tuning.kept_days),
    ("reference/agents.md", r"`used` adds ([\d.]+) to", SETTINGS.recall.tuning.feedback_used),
    ("reference/http.md", r"tokens, at most ([\d,]+)\. A request costs", ServerTuning().rate_burst),
    ("reference/http.md", r"WRONG_KEYS_PER_MINUTE` \((\d+);", SETTINGS.server.wrong_keys_per_minute),
    ("reference/http.md", r"\| (\d+) memories or thoughts;", limits.BATCH_ITEMS),
    ("reference/http.md", r"; (\d+) questions in `recall:batch`", limits.BATCH_QUESTIONS),
    ("reference/http.md", r"Answers of (\d+) bytes or more", ServerTuning().gzip_bytes),
    ("reference/http.md", r"CONNECTIONS`, (\d+), or fewer", SETTINGS.server.connections),
    ("reference/http.md", r"from the first byte \| (\d+) s", ServerTuning().head_s),
    ("reference/http.md", r"pause within a body \| (\d+) s", ServerTuning().body_s),
    ("reference/export-format.md", r"at most (\d+) MiB each", limits.LINE_BYTES / 1024**2),
    ("reference/importers.md", r"A section above ([\d,]+) characters", limits.CONTENT_CHARS),
    ("reference/importers.md", r"pages above (\d+) MiB", file_reading.MAX_BYTES / 1024**2),
    ("reference/importers.md", r"at most ([\d,]+) folders", default_locations._FOLDERS),
    ("reference/signals.md", r"opens more than (\d+) signals within a minute", SETTINGS.signals.tuning.source_signals),
    ("reference/signals.md", r"Keys are kept for (\d+) days", SETTINGS.signals.tuning.key_days),
    ("reference/signals.md", r"ended (\d+) days ago", SETTINGS.signals.tuning.tombstone_days),
    ("reference/vault.md", r"at most ([\d,]+) characters, without", BODY_CHARS),
]
IN_WORDS = [
    ("how-to/connect.md", r"critical at most\), (\w+) a session", {"five": session_marks.MOST}),
    ("how-to/search.md", r"gives each hit up to (\w+) fragments", {"three": fragments.MOST}),
    ("operations/backup.md", r"`OPENBRAIN_STREAMS__RETENTION_S`, (\w+) days", {"seven": STREAMS.retention_s / DAY}),
]


@pytest.mark.parametrize(("page", "sentence", "value"), STATED, ids=lambda each: str(each)[:40])
def test_a_stated_number_is_that_of_the_code(page: str, sentence: str, value: float) -> None:
    stated = re.findall(sentence, (DOCS / page).read_text(encoding="utf-8"))
    assert [float(each.replace(",", "")) for each in stated] == [value]


@pytest.mark.parametrize(("page", "sentence", "words"), IN_WORDS, ids=lambda each: str(each)[:40])
def test_a_number_in_words_is_that_of_the_code(page: str, sentence: str, words: dict[str, float]) -> None:
    numbers = {"three": 3, "five": 5, "seven": 7}
    assert {each: numbers[each] for each in re.findall(sentence, (DOCS / page).read_text(encoding="utf-8"))} == words
