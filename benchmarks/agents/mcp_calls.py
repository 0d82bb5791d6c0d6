"""Two hundred agents at once, each with its own key: the tools at /mcp compared with the same calls through REST, on
one process of `openbrain up`. Both sides alternate, and no question is asked twice."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from benchmarks.support.http_load import Load, measure
from benchmarks.support.report import Report, Row
from benchmarks.support.system import System, running, wait_until_indexed
from benchmarks.support.texts import questions, texts

NAME = "mcp_calls"
GOAL = 1.5
BATCH = 100
TOOLS = "/mcp"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--mcp-agents", type=int, default=200)
    parser.add_argument("--mcp-memories", type=int, default=500)
    parser.add_argument("--mcp-calls", type=int, default=2_000)
    parser.add_argument("--mcp-repeats", type=int, default=3)
    parser.add_argument("--mcp-tools", default="recall,remember", help="tools to measure, separated by commas")


@dataclass(frozen=True, slots=True)
class Call:
    """One call in both forms: a route's body, and the tool with its arguments."""

    name: str
    path: str
    tool: str
    arguments: Callable[[int, int], Sequence[dict[str, object]]]
    """The arguments of that many calls, by a seed."""


CALLS = (
    Call(
        "recall",
        "/v1/brain/recall",
        "brain_recall",
        lambda count, seed: [{"query": question, "top_k": 5} for question in questions(count, seed)],
    ),
    Call(
        "remember",
        "/v1/brain/remember",
        "brain_remember",
        lambda count, seed: [{"content": f"{seed}: {text}", "type": "fact"} for text in texts(count, seed)],
    ),
)


def run(options: argparse.Namespace) -> Report:
    """Measure both ways alternately, after a warm-up round of both."""
    with running({"OPENBRAIN_SERVER__RATE_PER_MINUTE": "0"}) as system:
        with system.client() as client:
            keys = [_key(client, f"agent-{number}") for number in range(options.mcp_agents)]
            _filled(client, options.mcp_memories)
        chosen = [call for call in CALLS if call.name in options.mcp_tools.split(",")]
        rows = [row for call in chosen for row in _compared(system, keys, call, options)]
    return Report(NAME, tuple(rows), (f"{options.mcp_agents} agents at once, {options.mcp_calls} calls a round",))


def _compared(system: System, keys: Sequence[str], call: Call, options: argparse.Namespace) -> Sequence[Row]:
    rest: list[Load] = []
    tools: list[Load] = []
    for number in range(options.mcp_repeats + 1):
        plain = [json.dumps(each) for each in call.arguments(options.mcp_calls, 10 + 2 * number)]
        rest.append(_measured(system, call.path, keys, plain))
        tools.append(
            _measured(system, TOOLS, keys, _as_tools(call, call.arguments(options.mcp_calls, 11 + 2 * number)))
        )
    rest, tools = rest[1:], tools[1:]
    failed = sum(load.failed for load in (*rest, *tools))
    ratios = tuple(tool.p50 / plain.p50 for tool, plain in zip(tools, rest, strict=True))
    return (
        Row(f"{call.name} by MCP: p50", "ms", _p50(tools), "by REST", ratios, goal=GOAL, at_most=True),
        Row(f"{call.name} by REST: p50", "ms", _p50(rest)),
        Row(f"{call.name}: errors", "", (float(failed),), goal=0, at_most=True),
    )


def _measured(system: System, path: str, keys: Sequence[str], bodies: Sequence[str]) -> Load:
    return measure(f"{system.url}{path}", ",".join(keys), len(keys), len(bodies), bodies)


def _p50(loads: Sequence[Load]) -> tuple[float, ...]:
    return tuple(load.p50 for load in loads)


def _as_tools(call: Call, given: Sequence[dict[str, object]]) -> list[str]:
    return [
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": call.tool, "arguments": arguments},
            }
        )
        for number, arguments in enumerate(given, 1)
    ]


def _key(client: httpx.Client, agent: str) -> str:
    body = {"name": agent, "agent_id": agent, "permissions": ["brain.read", "brain.write"]}
    return str(client.post("/v1/admin/keys", json=body).raise_for_status().json()["key"])


def _filled(client: httpx.Client, count: int) -> None:
    contents, ids = texts(count), []
    for start in range(0, count, BATCH):
        memories = [{"content": content, "type": "fact"} for content in contents[start : start + BATCH]]
        made = client.post("/v1/brain/remember:batch", json={"memories": memories}).raise_for_status().json()
        ids += [each["id"] for each in made["results"]]
    wait_until_indexed(client, ids)
