"""Numbers that the code goes by and that operators leave alone: tests shorten them.

Each is read from the environment as `OPENBRAIN_<GROUP>__TUNING__<NAME>`; none is promised to stay.
"""

from pydantic import Field

from openbrain.settings.groups import Group, Seconds


class StreamTuning(Group):
    batch_s: Seconds = Field(0.5, description="How long a batch may take to handle: slow handlers take fewer at once.")
    abandoned_limit: int = Field(10, ge=1, description="Crashes an entry may survive before it is a dead letter.")
    poll_s: Seconds = Field(2, description="How long one read blocks.")
    reap_s: Seconds = Field(1, description="How often due retries and abandoned entries are looked for.")
    breaker_s: Seconds = Field(1, description="First pause when a dependency is down; doubles up to breaker_max_s.")
    breaker_max_s: Seconds = Field(30, description="Longest pause while a dependency is down.")
    aside: int = Field(
        2000, ge=1, description="Entries that wait in hand for a dependency, at most, while what needs none goes on."
    )
    failing_share: float = Field(
        0.5, gt=0, le=1, description="Where a larger share of entries fails the reader stops and probes; 1: never."
    )
    failing_least: int = Field(10, ge=1, description="Failures without which a reader never stops.")
    reconnect_max_s: Seconds = Field(5, description="Longest pause before Redis is tried again.")
    dead_alarm_s: Seconds = Field(3600, description="How long an alarm stands before the first dead letter is dropped.")
    shutdown_s: Seconds = Field(15, description="How long a handler may take to end at shutdown.")
    retention_share: float = Field(
        0.5, gt=0, le=1, description="Of the server's memory: streams that use more lose the oldest that all have read."
    )
    dead_share: float = Field(0.1, gt=0, le=1, description="Of the server's memory, for dead letters.")


class TruthTuning(Group):
    lock_wait_s: Seconds = Field(10, description="How long a write waits for a lock.")


class TextTuning(Group):
    refresh_ms: int = Field(200, ge=10, description="Elasticsearch's refresh interval of our indexes.")
    commit_ms: int = Field(
        200, ge=1, description="While entries flow, tantivy commits this long after the last one began."
    )
    timeout_s: Seconds = Field(10, description="Of one call.")


class EmbeddingTuning(Group):
    query_cache: int = Field(1024, ge=0, description="Vectors of recent queries kept in memory.")
    keep_alive: str = Field("30m", description="How long Ollama keeps the model loaded.")


class RecallTuning(Group):
    candidates: int = Field(100, ge=10, le=1000, description="Asked of each index for one answer.")
    bucket_width: float = Field(0.02, gt=0, le=1, description="Relevance differences below this are ties.")
    kept_days: int = Field(30, ge=1, description="How long is kept what a recall found, for feedback.")
    feedback_used: float = Field(0.02, ge=0, le=1, description="What `used` adds to a memory's confidence.")
    feedback_ignored: float = Field(0.01, ge=0, le=1, description="What `ignored` takes from it.")
    feedback_wrong: float = Field(0.1, ge=0, le=1, description="What `wrong` takes from it.")
    feedback_floor: float = Field(0.1, ge=0, le=1, description="Feedback takes nothing below it.")
    feedback_agent_day: float = Field(
        0.1, ge=0, le=1, description="By how much one agent moves a memory's confidence in a day, in one direction."
    )
    feedback_day: float = Field(0.2, ge=0, le=1, description="The same for all agents together.")
    as_of_days: int = Field(3650, ge=0, le=36_500, description="How far back `as_of` may ask; beyond it is refused.")
    degraded_scan: int = Field(20_000, ge=1, description="Newest memories that the truth searches when it must.")
    index_timeout_s: Seconds = Field(3, description="An index that takes longer counts as down for this answer.")


class HousekeepingTuning(Group):
    relay_batch: int = Field(500, ge=1, le=5000, description="Events published at once.")
    relay_poll_ms: int = Field(1000, ge=1, le=5000, description="Longest pause of the relay where no commit wakes it.")
    lease_s: Seconds = Field(5, description="A dead leader is replaced after this long.")
    expiry_every_s: Seconds = Field(1, description="How often due memories are ended.")
    mend_every_s: Seconds = Field(1, description="How often broadcast streams are looked at for what the server lost.")
    trim_every_s: Seconds = Field(60, description="How often streams are trimmed.")
    purge_every_s: Seconds = Field(600, description="How often idempotency keys past their time are removed.")
    reconcile_every_s: Seconds = Field(
        30, description="How often a part of the rows is looked through for those that no indexer has noted."
    )
    grace_s: Seconds = Field(60, description="What changed so lately is left to the streams before it counts as lost.")
    import_silence_s: Seconds = Field(
        3600, description="An import of which nothing more comes for so long is given up; sent again, it goes on."
    )
    digests_every_s: Seconds = Field(
        86_400,
        description="How often `verify_every_s` compares every entry where the engine can only count cheaply (Qdrant).",
    )
    stream_key_days: int = Field(30, ge=1, description="How long the idempotency key of a stream submission is kept.")
    request_key_hours: int = Field(24, ge=1, description="How long an `Idempotency-Key` of a request is kept.")
    operation_days: int = Field(30, ge=1, description="How long operations that have ended stay listed.")
    undo_days: int = Field(30, ge=1, description="How long what a lifecycle operation changed can be undone.")
    message_days: int = Field(90, ge=1, description="How long messages between agents are kept, read or not.")


class VaultTuning(Group):
    file_kb: int = Field(4096, ge=1, le=65_536, description="Larger files are reported and left alone.")
    wait_s: Seconds = Field(5, description="How long a write waits for the one writer before it answers 503.")


class SignalTuning(Group):
    dedupe_s: Seconds = Field(
        300,
        description="A signal that is raised again, and no worse, is broadcast again after so long at the earliest.",
    )
    source_signals: int = Field(
        60,
        ge=1,
        le=1_000_000,
        description="New signals of a source within `source_window_s`, as strong or stronger, after which the next "
        "become one that counts them.",
    )
    source_window_s: Seconds = Field(60, description="See `source_signals`.")
    key_days: int = Field(30, ge=1, description="How long a raise is known again by its event id or key.")
    subscriber_days: int = Field(7, ge=1, description="Agents not seen for so long are no longer listed.")
    sweep_every_s: Seconds = Field(1, description="How often what is due by time is looked for.")
    sweep_batch: int = Field(200, ge=1, le=1000, description="Signals that one sweep moves, at most.")
    tombstone_days: int = Field(14, ge=1, description="So long after its end a signal is told of for the last time.")


class WebhookTuning(Group):
    most: int = Field(20, ge=1, le=1000, description="Webhooks of a workspace.")
    at_once: int = Field(16, ge=1, le=256, description="Webhooks that are posted to at the same time.")
    dead_days: int = Field(30, ge=1, description="How long dead letters of webhooks stay.")
    timeout_s: Seconds = Field(5, description="Of one post.")
    backoff_s: tuple[Seconds, ...] = Field(
        (10, 60, 300, 3600), description="Waits before the attempts after a failed one; then it is a dead letter."
    )


class ServerTuning(Group):
    group_commit: int = Field(128, ge=1, le=500, description="Writes that may share a transaction.")
    gzip_bytes: int = Field(8192, ge=0, description="Answers from this size on are packed where asked; 0 packs none.")
    documents_per_minute: int = Field(
        60, ge=0, le=1_000_000, description="Times an address may ask for `/openapi.json` a minute; 0: any."
    )
    heartbeat_s: Seconds = Field(15, description="Longest silence on a stream of signals.")
    listening_s: Seconds = Field(
        300, description="Agents heard of within this time count as listening, where a halt asks who has not stopped."
    )
    head_s: Seconds = Field(10, description="How long the head of a request may take to arrive; then 408.")
    body_s: Seconds = Field(
        30, description="Longest silence within a body, then 408; and of a client that takes nothing of its answer."
    )
    rate_burst: int = Field(
        2_000, ge=1, le=10_000_000, description="Of `rate_per_minute`, how many at once; at most a minute's."
    )


class TickTuning(Group):
    extract_since_h: float = Field(26, gt=0, le=720, description="Hours that an extraction looks back, at least.")
    extract_min_turns: int = Field(5, ge=0, description="Sessions with fewer turns of the user are left out.")
    extract_at: str = Field(
        "04:07",
        pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        description="The first tick at or after this minute of a day, in UTC, makes arcs of new transcripts.",
    )
    late_s: Seconds = Field(5 * 3600, description="Without a tick, or a good one, for longer a warning is raised.")
    unheard_s: Seconds = Field(
        1800, description="Where nobody acknowledges a grave signal for longer a warning is raised."
    )


class EventsTuning(Group):
    max_age_s: Seconds = Field(3600, description="Older entries, as of before the first start, are no signals.")


class VectorsTuning(Group):
    timeout_s: Seconds = Field(10, description="Of one call.")
