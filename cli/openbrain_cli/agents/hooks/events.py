"""Handlers of a client's events. Each takes the client's input and returns the output for it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any, Final

from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.text.control_characters import cleaned
from openbrain_cli.agents.hooks import session, shown
from openbrain_cli.agents.hooks.brain import Brain, Refused, brain_of
from openbrain_cli.agents.hooks.call import HookCall, warn
from openbrain_cli.agents.hooks.delivery import KEY, Unsent
from openbrain_cli.agents.hooks.markers import new_markers

FLOOR: Final = 0.6
"""Minimum similarity (docs/how-to/search.md) of a memory that does not name the file itself."""
FILE_TYPES: Final = ("decision", "convention", "bug")
FILE_MEMORIES: Final = 3
FILES_AT_ONCE: Final = 3
"""Files of one tool call that are looked up; the others are when they are touched again."""
PROMPT_MEMORIES: Final = 3
CONTEXT_TOKENS: Final = 2_000
SUBAGENT_TOKENS: Final = 600
PERSON_S: Final = 10.0
"""Seconds for all requests of one try to deliver, when a person waits for it."""
REMEMBER: Final = "/v1/brain/remember"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One event of a connected client."""

    call: HookCall
    folder: Path
    record: Mapping[str, Any]
    known: session.Session
    brain: Callable[[], Brain]

    @property
    def unsent(self) -> Unsent:
        """Writes that could not be delivered."""
        return Unsent(self.folder, self.brain)

    def option(self, name: str) -> bool:
        """True if the option was set when the client was connected."""
        return self.record.get(name) is True


def session_start(hook: Hook) -> str:
    """Boot context for an agent's session."""
    session.forget_old(hook.folder)
    brain = hook.brain()
    alarms = hook.known.alarms = _alarms(hook, brain)
    text = _context(hook, brain, alarms, CONTEXT_TOKENS)
    with suppress(Exception):  # what waits goes on waiting
        hook.unsent.deliver()
    return hook.call.adding(text)


def subagent_start(hook: Hook) -> str:
    """Shorter boot context for a sub-agent. Its alarms are still new to the session's own agent."""
    brain = hook.brain()
    return hook.call.adding(_context(hook, brain, _alarms(hook, brain), SUBAGENT_TOKENS))


def prompt(hook: Hook) -> str:
    """Alarms that are new to the session, halts every time, and, if enabled, memories related to the prompt."""
    brain = hook.brain()
    state = brain.get("/v1/amygdala/state", project=hook.call.project)
    alarms = shown.alarms(state, hook.call.project)
    parts = [alarms] if alarms and (state.get("halted") or alarms != hook.known.alarms) else []
    hook.known.alarms = alarms
    if hook.option("recall_prompts") and hook.call.prompt.strip():
        with suppress(OpenBrainError):  # alarms are shown without them
            memories = _recall(hook, brain, hook.call.prompt[:2000], PROMPT_MEMORIES)
            parts.append(shown.fenced(_unseen(hook, [memory for memory, near in memories if near >= FLOOR])))
    return hook.call.adding("\n\n".join(filter(None, parts)))


def file(hook: Hook) -> str:
    """Decisions, conventions and bugs about a file, once per session."""
    if redirected := _redirected(hook):
        return redirected
    new = [name for name in map(hook.call.relative, hook.call.files) if name not in hook.known.files]
    files = new[:FILES_AT_ONCE]
    if not files:
        return ""
    brain, about = hook.brain(), []
    for name in files:
        memories = _recall(hook, brain, name, FILE_MEMORIES * 2, type=list(FILE_TYPES), keywords=[PurePath(name).name])
        about += [memory for memory, near in memories if near >= FLOOR or _names(memory, name)][:FILE_MEMORIES]
    hook.known.files += files
    return hook.call.adding(shown.fenced(_unseen(hook, about)))


def harvest(hook: Hook) -> str:
    """Store the agent's markers as memories and signals. Adds nothing to the model's context."""
    read, found = dict(hook.known.read), list(hook.known.markers)
    try:
        for write in new_markers(hook.call, hook.known, hook.record):
            hook.unsent.keep(write)
    except Exception as error:
        # The next hook finds these markers again: each is stored once, by its key.
        hook.known.read, hook.known.markers = read, found
        if isinstance(error, TryLater):
            warn(f"markers are not stored yet: {error}")
        raise
    hook.unsent.deliver()
    return ""


def undelivered(folder: Path, record: Mapping[str, Any]) -> int:
    """Deliver the writes that wait in a connection. Return how many still wait."""
    left = -1
    while True:
        unsent = Unsent(folder, cache(lambda: brain_of(folder, record, PERSON_S)))  # a new limit for each
        if not unsent:
            return 0
        with suppress(OpenBrainError):
            unsent.deliver()
        before, left = left, unsent.waiting()
        if left in (0, before):
            return left


def _alarms(hook: Hook, brain: Brain) -> str:
    return shown.alarms(brain.get("/v1/amygdala/state", project=hook.call.project), hook.call.project)


def _context(hook: Hook, brain: Brain, alarms: str, tokens: int) -> str:
    """Open signals of the workspace, then the brain's boot context."""
    parts = [alarms]
    with suppress(OpenBrainError):  # alarms are shown without it
        parts.append(_boot_context(hook, brain, tokens))
    return "\n\n".join(filter(None, parts))


def _boot_context(hook: Hook, brain: Brain, tokens: int) -> str:
    project = hook.call.project
    try:
        context = brain.get(brain.context_path, project=project, budget_tokens=tokens, session_id=hook.call.session)
        return str(context.get("text", ""))
    except Refused:  # the server is older than this command
        return shown.brief(brain.get("/v1/brain/brief", project=project, limit=10))


def _recall(hook: Hook, brain: Brain, query: str, most: int, **more: Any) -> list[tuple[dict[str, Any], float]]:
    body = {"query": cleaned(query), "top_k": most, "project": hook.call.project, **more}
    response = brain.post("/v1/brain/recall", {name: value for name, value in body.items() if value})
    return [(memory, float(memory.get("similarity") or 0)) for memory in response.get("memories", ())]


def _unseen(hook: Hook, memories: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Memories that this session has not been shown yet; marks them as shown."""
    new = {memory["id"]: memory for memory in memories if memory["id"] not in hook.known.memories}
    hook.known.memories += new
    return list(new.values())


def _names(memory: Mapping[str, Any], name: str) -> bool:
    text = str(memory.get("content", "")).casefold()
    return PurePath(name).name.casefold() in text


def _redirected(hook: Hook) -> str:
    """If enabled, store a write to a client's memory file as a memory, and block the write. What the brain refuses is
    written to the file."""
    text = hook.call.written.strip()
    if not hook.option("redirect_memory_files") or not text or not any(map(_is_memory_file, hook.call.files)):
        return ""
    from openbrain.client.outbox import State, Write

    # The same text in the same project is the same memory.
    key = hashlib.sha256(f"{hook.call.project}\n{text}".encode()).hexdigest()[:32]
    body = {"content": text, "type": "observation", "project": hook.call.project}
    given = {name: value for name, value in body.items() if value}
    number = hook.unsent.keep(Write("POST", REMEMBER, given, headers={KEY: key}))
    with suppress(TryLater):
        hook.unsent.deliver()
    state = hook.unsent.state(number)
    if state is State.REFUSED:
        return ""
    if state is State.WAITING:
        return hook.call.refusing(
            "OpenBrain keeps this and stores it as soon as it can be reached: do not write the file."
        )
    return hook.call.refusing("Stored in OpenBrain, where brain_recall finds it: do not write the file.")


def _is_memory_file(name: str) -> bool:
    parts = PurePath(name).parts
    return parts[-1:] == ("MEMORY.md",) or (
        parts[-1:] != () and parts[-1].endswith(".md") and "memory" in parts[:-1] and ".claude" in parts
    )


EVENTS: Final[Mapping[str, Callable[[Hook], str]]] = {
    "session-start": session_start,
    "prompt": prompt,
    "file": file,
    "compact": harvest,
    "stop": harvest,
    "subagent-start": subagent_start,
    "subagent-stop": harvest,
}
