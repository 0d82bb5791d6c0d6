"""The port `Reasoner`: no reasoner, and any server with a chat completions API."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from openbrain.adapters.network.chat_reasoner import ANSWER_BYTES, ChatReasoner
from openbrain.domain.errors import NeverRetry, SetupError, TryLater
from openbrain.ports.models import Question, Thought
from tests.servers.processes.process import Server
from tests.support.embedder.fake_chat import MODEL, Reply, fake_chat, says

SECRET = "the launch code is 4711"
KEY = "a-key-of-somebody"
SCHEMA = {"type": "object", "properties": {"health": {"type": "object"}}, "additionalProperties": False}
QUESTION = Question(instructions="Answer.", prompt=SECRET, schema=SCHEMA, schema_name="tick")


@asynccontextmanager
async def reasoner(url: str, model: str = MODEL, **settings: Any) -> AsyncIterator[ChatReasoner]:
    opened = ChatReasoner(url, model, **settings)
    try:
        yield opened
    finally:
        await opened.close()


async def test_one_call_carries_question_schema_and_key() -> None:
    with fake_chat(lambda _: says('{"a":1}', usage={"prompt_tokens": 7, "completion_tokens": 3})) as chat:
        async with reasoner(chat.url, api_key=KEY, answer_tokens=99) as asked:
            thought = await asked.reason(QUESTION)

    assert thought == Thought(text='{"a":1}', model=MODEL, tokens_in=7, tokens_out=3)
    (body,) = chat.asked
    assert body["path"] == "/v1/chat/completions"
    assert body["messages"] == [{"role": "system", "content": "Answer."}, {"role": "user", "content": SECRET}]
    assert body["response_format"]["json_schema"] == {"name": "tick", "strict": True, "schema": SCHEMA}
    assert body["max_tokens"] == 99
    assert chat.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("form", "sent"), [("json", {"type": "json_object"}), ("text", None)])
async def test_servers_without_schemas_are_asked_without(form: Any, sent: object) -> None:
    with fake_chat(lambda _: says("words")) as chat:
        async with reasoner(chat.url, form=form) as asked:
            await asked.reason(QUESTION)

    assert chat.asked[0].get("response_format") == sent
    assert "Authorization" not in chat.headers[0]


async def test_an_answer_that_was_cut_says_so() -> None:
    with fake_chat(lambda _: says('{"a', finish="length")) as chat:
        async with reasoner(chat.url) as asked:
            thought = await asked.reason(QUESTION)

    assert thought is not None
    assert thought.cut
    assert thought.tokens_in is None


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        ((401, {"error": {"code": "invalid_api_key", "message": SECRET}}), SetupError, r"invalid_api_key.*API_KEY"),
        ((404, {"error": {"message": SECRET}}), SetupError, "has the model"),
        ((400, {"error": {"message": SECRET, "type": SECRET}}), NeverRetry, "ANSWER=json or text"),
        ((429, {"error": {"message": SECRET}}), TryLater, "429"),
        ((503, SECRET.encode()), TryLater, "503"),
        ((200, SECRET.encode()), TryLater, "not answer in JSON"),
        ((200, {"choices": []}), TryLater, "holds no message"),
        ((200, {"choices": [{"message": {"content": [SECRET]}}]}), TryLater, "holds no message"),
        ((200, b" " * (ANSWER_BYTES + 1)), NeverRetry, "ANSWER_TOKENS"),
    ],
)
async def test_refusals_say_what_to_do_and_repeat_nothing(reply: Reply, error: type[Exception], words: str) -> None:
    with fake_chat(lambda _: reply) as chat:
        async with reasoner(chat.url, api_key=KEY) as asked:
            with pytest.raises(error, match=words) as raised:
                await asked.reason(QUESTION)

    assert SECRET not in str(raised.value)
    assert KEY not in str(raised.value)


async def test_a_silent_model_is_given_up_at_the_deadline() -> None:
    over = threading.Event()

    def silent(_: object) -> Reply:
        over.wait(60)
        return says("too late")

    with fake_chat(silent) as chat:
        async with reasoner(chat.url, timeout_s=0.2) as asked:
            with pytest.raises(TryLater, match=r"longer than 0\.2 s.*TIMEOUT_S"):
                await asked.reason(QUESTION)
        over.set()


async def test_a_server_that_is_down_is_tried_later() -> None:
    async with reasoner("http://user:hidden@127.0.0.1:1/v1") as asked:
        with pytest.raises(TryLater, match="is it running") as raised:
            await asked.reason(QUESTION)
        with pytest.raises(TryLater):
            await asked.check()

    assert "hidden" not in str(raised.value)


def test_settings_that_cannot_work_are_told_at_start() -> None:
    with pytest.raises(SetupError, match="MODEL names no model"):
        ChatReasoner("http://127.0.0.1:1", "")
    with pytest.raises(SetupError, match="is no URL"):
        ChatReasoner("http://h:port", MODEL)


async def test_a_check_tells_of_a_model_that_is_not_there() -> None:
    with fake_chat(lambda _: says("")) as chat:
        async with reasoner(chat.url) as right, reasoner(chat.url, "another") as wrong:
            assert (await right.check()).problems == ()
            assert "OPENBRAIN_REASONER__MODEL" in (await wrong.check()).problems[0]


async def test_ollama_is_spoken_to_at_its_own_address(ollama_server: Server) -> None:
    """The only model here embeds and can't chat, and the server refuses it as any server does."""
    async with reasoner(f"{ollama_server.url}/v1", "all-minilm") as here, reasoner(f"{ollama_server.url}/v1") as other:
        assert (await here.check()).problems == ()
        with pytest.raises(NeverRetry, match="answered 400"):
            await here.reason(QUESTION)
        with pytest.raises(SetupError, match="answered 404"):
            await other.reason(QUESTION)
