"use strict";

// Everything is put in as text: nothing of the document is read as HTML.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

let documented;

function resolved(schema) {
  if (!schema || !schema.$ref) return schema || {};
  return schema.$ref.replace("#/", "").split("/").reduce((at, part) => at[part], documented);
}

function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  const several = schema.anyOf || schema.oneOf;
  if (several) return several.map(typeOf).join(" or ");
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return `list of ${typeOf(schema.items) || "anything"}`;
  return [].concat(schema.type || "").join(" or ") + (schema.format ? ` (${schema.format})` : "");
}

function table(heads, rows) {
  if (!rows.length) return null;
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  const head = element("tr", {}, ...heads.map((each) => element("th", {}, each)));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

function fields(schema) {
  const whole = resolved(schema);
  const required = new Set(whole.required || []);
  return Object.entries(whole.properties || {}).map(([name, each]) => [
    element("code", {}, name + (required.has(name) ? " *" : "")),
    typeOf(each),
    each.description || "",
  ]);
}

function media(title, content) {
  return Object.entries(content || {}).flatMap(([type, each]) => {
    const rows = fields(each.schema);
    const example = each.example || Object.values(each.examples || {}).map((one) => one.value)[0];
    return [
      element("h4", {}, `${title} · ${type}${each.schema ? ` · ${typeOf(each.schema)}` : ""}`),
      table(["field", "type", "meaning"], rows),
      example === undefined ? null : element("pre", {}, JSON.stringify(example, null, 2)),
    ];
  });
}

function operation(path, method, told) {
  const parameters = (told.parameters || []).map(resolved).map((each) => [
    element("code", {}, each.name + (each.required ? " *" : "")),
    each.in,
    typeOf(each.schema),
    each.description || "",
  ]);
  const answers = Object.entries(told.responses || {}).map(([status, each]) => [status, resolved(each)]);
  const good = answers.filter(([status]) => status < "400").flatMap(([status, each]) => media(`Answer ${status}`, each.content));
  const refusals = answers.filter(([status]) => status >= "400").map(([status, each]) => [status, each.description || ""]);
  const body = told.requestBody ? media("Body", resolved(told.requestBody).content) : [];
  const name = element("summary", {}, element("b", { class: `method ${method}` }, method.toUpperCase()), " ",
    element("code", {}, path), " ", told.summary || "");
  const id = told.operationId || `${method}${path}`;
  const shown = element("details", { id }, name, told.description ? element("p", {}, told.description) : null,
    table(["parameter", "in", "type", "meaning"], parameters), ...body, ...good,
    refusals.length ? element("h4", {}, "Refusals") : null, table(["status", "meaning"], refusals));
  shown.dataset.words = `${method} ${path} ${told.summary || ""} ${told.description || ""}`.toLowerCase();
  return shown;
}

function groupOf(path, told) {
  const [first, second, ...rest] = path.split("/").slice(1);
  return (told.tags || [])[0] || (first === "v1" && rest.length ? `${first}/${second}` : "others");
}

function show() {
  const groups = new Map();
  for (const [path, methods] of Object.entries(documented.paths)) {
    for (const [method, told] of Object.entries(methods)) {
      if (!["get", "post", "put", "patch", "delete"].includes(method)) continue;
      const group = groupOf(path, told);
      groups.set(group, [...(groups.get(group) || []), operation(path, method, told)]);
    }
  }
  const sections = [...groups].map(([name, operations]) =>
    element("section", { id: `group-${name}` }, element("h2", {}, name), ...operations));
  document.getElementById("operations").replaceChildren(...sections);
  document.getElementById("groups").replaceChildren(
    ...[...groups.keys()].map((name) => element("a", { href: `#group-${name}` }, name)));
  document.getElementById("about").prepend(`${documented.info.title} ${documented.info.version}. `);
}

function filter(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of document.querySelectorAll("section")) {
    for (const each of section.querySelectorAll("details")) {
      each.hidden = !wanted.every((word) => each.dataset.words.includes(word));
    }
    section.hidden = !section.querySelector("details:not([hidden])");
  }
}

function reveal() {
  const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named) return;
  if (named.tagName === "DETAILS") named.open = true;
  named.scrollIntoView();
}

async function start() {
  try {
    documented = await (await fetch("openapi.json")).json();
    show();
    document.getElementById("filter").addEventListener("input", (event) => filter(event.target.value));
    reveal();
    addEventListener("hashchange", reveal);
  } catch (error) {
    document.getElementById("operations").textContent = `openapi.json can't be shown: ${error.message}`;
  }
}

start();
