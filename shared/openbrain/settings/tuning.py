"""Internal numbers that operators need not change; tests use shorter ones.

Each is read from the environment as `OPENBRAIN_<GROUP>__TUNING__<NAME>`; they may change without notice.
"""

from pydantic import Field

from openbrain.settings.groups import Group, Seconds


class StreamTuning(Group):
    batch_s: Seconds = Field(0.5, description="Target time for handling a batch: slow handlers get smaller batches.")
    abandoned_limit: int = Field(10, ge=1, description="Crashes an entry may survive before it is a dead letter.")
    poll_s: Seconds = Field(2, description="How long one read blocks.")
    reap_s: Seconds = Field(1, description="How often due retries and abandoned entries are claimed.")
    breaker_s: Seconds = Field(1, description="First pause when a dependency is down; doubles up to breaker_max_s.")
    breaker_max_s: Seconds = Field(30, description="Longest pause while a dependency is down.")
    aside: int = Field(
        2000, ge=1, description="Entries deferred for a dependency, at most, while entries that need none are handled."
    )
    failing_share: float = Field(
        0.5, gt=0, le=1, description="If a larger share of entries fails, the reader stops and probes; 1: never."
    )
    failing_least: int = Field(10, ge=1, description="Failures needed before a reader stops.")
    reconnect_max_s: Seconds = Field(5, description="Longest pause before reconnecting to Redis.")
    dead_alarm_s: Seconds = Field(3600, description="How long a warning precedes the first dropped dead letter.")
    shutdown_s: Seconds = Field(15, description="How long a handler may take to end at shutdown.")
    retention_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the server's memory: if streams use more, the oldest entries that all "
        "groups have read are removed.",
    )
    dead_share: float = Field(0.1, gt=0, le=1, description="Share of the server's memory for dead letters.")


class TruthTuning(Group):
    lock_wait_s: Seconds = Field(10, description="How long a write waits for a lock.")


class TextTuning(Group):
    refresh_ms: int = Field(200, ge=10, description="Elasticsearch's refresh interval of our indexes.")
    commit_ms: int = Field(
        200, ge=1, description="Under load, tantivy commits this long after the previous commit began."
    )
    timeout_s: Seconds = Field(10, description="Timeout of one call.")


class EmbeddingTuning(Group):
    query_cache: int = Field(1024, ge=0, description="Vectors of recent queries kept in memory.")
    keep_alive: str = Field("30m", description="How long Ollama keeps the model loaded.")


class RecallTuning(Group):
    candidates: int = Field(100, ge=10, le=1000, description="Candidates requested from each index for one answer.")
    state_cache_mb: int = Field(
        32, ge=0, le=100_000, description="Token states of recently compared memories kept in memory; 0: none."
    )
    bucket_width: float = Field(0.02, gt=0, le=1, description="Relevance differences below this are ties.")
    kept_days: int = Field(30, ge=1, description="How long the results of a recall are kept, for feedback.")
    feedback_used: float = Field(0.02, ge=0, le=1, description="What `used` adds to a memory's confidence.")
    feedback_ignored: float = Field(0.01, ge=0, le=1, description="What `ignored` subtracts from it.")
    feedback_wrong: float = Field(0.1, ge=0, le=1, description="What `wrong` subtracts from it.")
    feedback_floor: float = Field(0.1, ge=0, le=1, description="Feedback does not lower a confidence below this.")
    feedback_agent_day: float = Field(
        0.1, ge=0, le=1, description="How far one agent can move a memory's confidence in a day, in one direction."
    )
    feedback_day: float = Field(0.2, ge=0, le=1, description="The same for all agents together.")
    as_of_days: int = Field(
        3650, ge=0, le=36_500, description="How far back `as_of` may be; earlier times are refused."
    )
    degraded_scan: int = Field(
        20_000, ge=1, description="Newest memories that the database searches if the indexes are unavailable."
    )
    index_timeout_s: Seconds = Field(3, description="An index that takes longer counts as down for this answer.")


class HousekeepingTuning(Group):
    relay_batch: int = Field(500, ge=1, le=5000, description="Events published at once.")
    relay_poll_ms: int = Field(1000, ge=1, le=5000, description="Longest pause of the relay if no commit wakes it.")
    lease_s: Seconds = Field(5, description="A dead leader is replaced after this long.")
    expiry_every_s: Seconds = Field(1, description="How often expired memories are ended.")
    mend_every_s: Seconds = Field(
        1, description="How often broadcast streams are checked for entries that the server lost."
    )
    trim_every_s: Seconds = Field(60, description="How often streams are trimmed.")
    purge_every_s: Seconds = Field(600, description="How often expired rows, such as idempotency keys, are removed.")
    reconcile_every_s: Seconds = Field(
        30, description="How often a part of the rows is checked for memories that no indexer has recorded."
    )
    grace_s: Seconds = Field(
        60, description="Changes younger than this are left to the streams; older unindexed ones count as lost."
    )
    import_silence_s: Seconds = Field(
        3600, description="An import without new data for this long is given up; sent again, it continues."
    )
    digests_every_s: Seconds = Field(
        86_400,
        description="How often verification compares every entry in engines that can only count cheaply (Qdrant).",
    )
    stream_key_days: int = Field(30, ge=1, description="How long the idempotency key of a stream submission is kept.")
    request_key_hours: int = Field(24, ge=1, description="How long an `Idempotency-Key` of a request is kept.")
    operation_days: int = Field(30, ge=1, description="How long operations that have ended stay listed.")
    undo_days: int = Field(30, ge=1, description="How long a lifecycle operation can be undone.")
    message_days: int = Field(90, ge=1, description="How long messages between agents are kept, read or not.")


class VaultTuning(Group):
    file_kb: int = Field(4096, ge=1, le=65_536, description="Larger files are reported and not changed.")
    wait_s: Seconds = Field(5, description="How long a write waits for the vault's lock before it is refused with 503.")


class SignalTuning(Group):
    dedupe_s: Seconds = Field(
        300,
        description="A signal raised again without a higher severity is broadcast again after this long at the "
        "earliest.",
    )
    source_signals: int = Field(
        60,
        ge=1,
        le=1_000_000,
        description="New signals of a source within `source_window_s`, of the same or a higher severity, after which "
        "further ones are counted in a single signal.",
    )
    source_window_s: Seconds = Field(60, description="See `source_signals`.")
    key_days: int = Field(30, ge=1, description="How long a repeated raise is recognised by its event id or key.")
    subscriber_days: int = Field(7, ge=1, description="Agents not seen for so long are no longer listed.")
    sweep_every_s: Seconds = Field(1, description="How often signals with due times are processed.")
    sweep_batch: int = Field(200, ge=1, le=1000, description="Signals processed in one sweep, at most.")
    tombstone_days: int = Field(14, ge=1, description="How long after its end a signal is broadcast for the last time.")


class WebhookTuning(Group):
    most: int = Field(20, ge=1, le=1000, description="Webhooks of a workspace, at most.")
    at_once: int = Field(16, ge=1, le=256, description="Webhooks that are posted to at the same time.")
    dead_days: int = Field(30, ge=1, description="How long dead letters of webhooks are kept.")
    timeout_s: Seconds = Field(5, description="Timeout of one post.")
    backoff_s: tuple[Seconds, ...] = Field(
        (10, 60, 300, 3600),
        description="Pauses between attempts after failures; after the last one it is a dead letter.",
    )


class ServerTuning(Group):
    group_commit: int = Field(128, ge=1, le=500, description="Writes that may share a transaction.")
    gzip_bytes: int = Field(
        8192, ge=0, description="Responses of at least this size are compressed if requested; 0: none."
    )
    documents_per_minute: int = Field(
        60, ge=0, le=1_000_000, description="Requests for `/openapi.json` per minute from one address; 0: unlimited."
    )
    heartbeat_s: Seconds = Field(15, description="Longest silence on a stream of signals.")
    listening_s: Seconds = Field(
        300,
        description="Agents seen within this time count as listening, for a halt's list of those that have not "
        "stopped.",
    )
    head_s: Seconds = Field(10, description="How long the head of a request may take to arrive; then 408.")
    body_s: Seconds = Field(
        30,
        description="Longest pause within a request body, then 408; also of a client that reads nothing of its "
        "response.",
    )
    rate_burst: int = Field(
        2_000,
        ge=1,
        le=10_000_000,
        description="Requests of `rate_per_minute` that may come at once; at most those of one minute.",
    )


class TickTuning(Group):
    extract_since_h: float = Field(26, gt=0, le=720, description="Hours that an extraction looks back, at least.")
    extract_min_turns: int = Field(5, ge=0, description="Sessions with fewer user turns are left out.")
    extract_at: str = Field(
        "04:07",
        pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        description="The first tick at or after this time of day, in UTC, creates arcs from new transcripts.",
    )
    late_s: Seconds = Field(
        5 * 3600, description="A warning is raised if there was no tick, or no successful one, for longer."
    )
    unheard_s: Seconds = Field(
        1800, description="A warning is raised if nobody acknowledges a critical or nuclear signal for longer."
    )


class EventsTuning(Group):
    max_age_s: Seconds = Field(
        3600, description="Older entries, such as those from before the first start, raise no signals."
    )


class VectorsTuning(Group):
    timeout_s: Seconds = Field(10, description="Timeout of one call.")
