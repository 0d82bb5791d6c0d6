"""The stream layer: reading Redis Streams so that nothing is lost, and writing to them.

What services use (import from the modules named; this package imports nothing by itself):

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

A handler gets a batch of deliveries and answers None (all done) or one result for each. `TryLater` costs nothing: the
batch stays in hand, the service pauses and tries it again; meanwhile a `degraded_handler` goes on with what needs no
dependency, and a bounded number of others wait in hand. `NeverRetry` is a dead letter at once. Any other
error is a failed attempt: the entry waits `backoff_s` and comes again, at most four attempts, then it is a dead letter.
Handlers of one service never run at the same time. An entry may come twice: effects must be idempotent.
"""
