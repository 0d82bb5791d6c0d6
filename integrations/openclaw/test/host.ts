/** Checked against the host's own types where it is installed: `npm run check:host`. */

import type { OpenClawPluginApi } from "openclaw/plugin-sdk/core";

import plugin, { contextEngine } from "../index.js";

type HostEngine = Awaited<ReturnType<Parameters<OpenClawPluginApi["registerContextEngine"]>[1]>>;
type Assembled = Awaited<ReturnType<HostEngine["assemble"]>>;

/** Messages go back as they came, and our own are plain text of the user: their parts are none of our types. */
interface Engine extends Omit<HostEngine, "assemble"> {
  assemble(params: Parameters<HostEngine["assemble"]>[0]): Promise<Omit<Assembled, "messages"> & { messages: unknown[] }>;
}

export const engine = (...given: Parameters<typeof contextEngine>): Engine => contextEngine(...given);
export const register: (api: OpenClawPluginApi) => void = (api) => plugin.register(api);
