/** OpenBrain's API, typed by its own document. */
export { connect, headersOf, OpenBrainError, refusal, type OpenBrain, type Server } from "./connection.js";
export { Subscriber, type Signal, type SubscriberOptions } from "./subscriber.js";
export type { components, paths } from "./schema.js";
