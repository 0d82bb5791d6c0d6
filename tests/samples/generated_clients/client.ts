import createClient from "openapi-fetch";
import type { paths } from "./brain.js";

declare const process: { argv: string[] };

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

const stored = await client.POST("/v1/brain/remember", {
  params: { header: { Prefer: "wait=20" } },
  body: { content: "Deploys are on Tuesdays.", type: "convention" },
});
if (stored.error) throw new Error(stored.error.message);

const found = await client.POST("/v1/brain/recall", { body: { query: "when are deploys?", type: "convention" } });
if (found.error) throw new Error(found.error.message);

const refused = await client.POST("/v1/brain/recall", { body: { query: "" } });
const listed = await client.GET("/v1/brain/list", { params: { query: { type: ["convention"], limit: 1 } } });

// @ts-expect-error: `content` is missing
void (() => client.POST("/v1/brain/remember", { body: { type: "convention" } }));
// @ts-expect-error: no such type
void (() => client.POST("/v1/brain/remember", { body: { content: "x", type: "rumour" } }));

const { duplicate, created_at } = stored.data;
console.log(
  JSON.stringify({
    stored: stored.data.id,
    duplicate,
    found: found.data.memories.map((memory) => memory.id),
    refused: refused.error?.field,
    listed: listed.data?.memories.map((memory) => memory.created_at === created_at),
  }),
);
