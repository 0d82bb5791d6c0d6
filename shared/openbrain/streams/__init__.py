"""The stream layer: reads Redis Streams without losing entries, and writes to them.

The API for services (import from the modules named; this package itself imports nothing):

- `group.subscription`      `Subscription(spec=, handler=, on_dead=None, degraded_handler=None, ...)`.
- `group.delivery`          `Delivery` (id, stream, workspace, event, failures, abandonments, raw), `Handler`, `OnDead`
- `reading.service`         `Service(group, subscriptions, settings.streams, resources=, checks=, lock=, ...)`:
                            `.app(settings.logs)` is the application for `faststream run`; `.start()` and
                            `.stop()` run it in another process's loop; `.stuck()` and `.unready()` tell its health.
- `monitoring.endpoints`    `routes([service, ...])`: /live, /ready and /metrics, one port for all services.
- `publishing.publisher`    `Publisher(settings.streams).publish([(stream, bytes), ...])`: one result for each.
- `publishing.wake`         `RedisWake(settings.streams)`; inside one process `openbrain.adapters.local.wake.LocalWake`.
- `operating.trim`          `await trim(client, plan(settings.streams), settings.streams.retention_s)`.
- `redis.connection`        `connect(settings.streams)`: a redis-py client, every wait bounded.

A handler gets a batch of deliveries and returns None (all done) or one result for each. `TryLater` costs no attempt:
the batch stays pending, the service pauses and tries it again; meanwhile a `degraded_handler` handles entries that need
no dependency, and a bounded number of others is deferred. `NeverRetry` makes a dead letter at once. Any other error is
a failed attempt: the entry is parked for `backoff_s` and delivered again, at most four attempts, then it is a dead
letter. Handlers of one service never run at the same time. An entry may be delivered twice: effects must be idempotent.
"""
