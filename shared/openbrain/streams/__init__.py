"""The stream layer: reading Redis Streams so that nothing is lost, and writing to them.

What services use (import from the modules named; this package imports nothing by itself):

- `table`         every stream of the system: `StreamSpec`, `STREAMS`, `dead_letters(stream, group)`.
- `subscription`  `Subscription(spec=, handler=, on_dead=None, without=None, workspace=None, low_priority=False)`.
- `delivery`      `Delivery` (id, stream, workspace, event, failures, abandonments, raw), `Handler`, `Results`, `OnDead`
- `service`          `Service(group, subscriptions, settings.streams, title=, resources=, checks=, lock=, handler_limit_s=)`:
                  `.app(settings.logs)` is the application for `faststream run`; `await .start()` and `.stop()` run it
                  in another process's loop; `.stuck()` and `await .unready()` are its health.
- `health`        `routes([service, ...])`: (path, ASGI application) of /live, /ready and /metrics, one port for all services.
- `publisher`     `Publisher(settings.streams).publish([(stream, bytes), ...])`: one result for each.
- `wake`          `RedisWake(settings.streams)`; inside one process `openbrain.adapters.local.wake.LocalWake`.
- `trim`          `await trim(client, plan(settings.streams), settings.streams.retention_s)`, for the housekeeper.
- `connection`    `connect(settings.streams)`: a redis-py client, every wait bounded; `await disconnect(client)`.

A handler gets a batch of deliveries and answers None (all done) or one result for each. `TryLater` costs nothing: the
batch stays in hand, the service pauses and tries it again; with `without`, a second handler meanwhile goes on with what
needs no dependency, and a bounded number of others wait in hand. `NeverRetry` is a dead letter at once. Any other
error is a failed attempt: the entry waits `backoff_s` and comes again, at most four attempts, then it is a dead letter.
Handlers of one service never run at the same time. An entry may come twice: effects must be idempotent.
"""
