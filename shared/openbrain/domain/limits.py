"""All input limits. A refusal names the field and the number given here."""

CONTENT_CHARS = 50_000
THOUGHT_CHARS = 900_000
"""Thoughts longer than CONTENT_CHARS are kept in parts."""
QUERY_CHARS = 2_000
ORG_CHARS = 128
PROJECT_CHARS = 255
AGENT_CHARS = 100
SESSION_CHARS = 255
SPEAKER_CHARS = 100
SOURCE_CHARS = 255
TITLE_CHARS = 200
ALIAS_CHARS = 100
ALIASES = 20
TAG_CHARS = 100
TAGS = 50
KEYWORD_CHARS = 255
KEYWORDS = 50
METADATA_BYTES = 16 * 1024
METADATA_VALUE_CHARS = 256
"""For a metadata value to be filterable."""
METADATA_FILTERS = 10
MATCHING_CHARS = 255
"""Length of a text for substring search."""
REASON_CHARS = 500
IDEMPOTENCY_KEY_CHARS = 255
WORKSPACE_CHARS = 64
NAME_CHARS = 100
KEYS = 10_000
"""Valid keys of a workspace: neither revoked nor expired."""
ONE_BODY_BYTES = 1024 * 1024
BODY_BYTES = 32 * 1024 * 1024
LINE_BYTES = 2 * 1024 * 1024
VECTOR_NUMBERS = 4096
"""Length of a vector supplied by an import."""
BATCH_ITEMS = 500
BATCH_QUESTIONS = 50
TOP_K = 100
TOP_K_DEFAULT = 10
AROUND = 10
RELATED = 50
RELATED_DEFAULT = 5
LIST_LIMIT = 100
LIST_LIMIT_DEFAULT = 20
EXPIRES_HOURS = 24 * 365 * 100
WAIT_SECONDS = 30
TURN = 2**31 - 1
"""The highest turn number in a session."""
SUBJECT_CHARS = 255
SUMMARY_CHARS = 20_000
STEP_CHARS = 500
STEPS = 20
SESSION_DAYS = 3650
SESSION_AGENTS = 50
PATH_CHARS = 1024
"""For the path of a file in a vault."""
UNREAD_MESSAGES = 10_000
"""Unread messages of one agent; more are refused until it has read some."""
KEY_SUBSCRIPTIONS = 200
WORKSPACE_SUBSCRIPTIONS = 10_000
