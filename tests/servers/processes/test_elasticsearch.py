import httpx
import pytest

from tests.servers.plugin import Starter
from tests.servers.processes.process import Server
from tests.support.waiting import PATIENCE_S


@pytest.mark.long("the server is killed and comes back in tests/contracts/text/test_elasticsearch_text.py")
@pytest.mark.servers("elasticsearch")
def test_documents_survive_kill_and_restart(private_server: Starter) -> None:
    server = private_server("elasticsearch")
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
        client.put("/memories/_doc/1", params={"refresh": "true"}, json={"body": "kept"}).raise_for_status()
    server.kill()
    server.start()
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
        assert client.get("/memories/_doc/1").json()["_source"] == {"body": "kept"}
        found = client.post("/memories/_search", json={"query": {"match": {"body": "kept"}}}).json()
        assert found["hits"]["total"]["value"] == 1


def test_a_client_reads_the_version_first(elasticsearch_server: Server) -> None:
    banner = httpx.get(elasticsearch_server.url, timeout=PATIENCE_S)
    assert banner.headers["x-elastic-product"] == "Elasticsearch"
    assert banner.json()["version"]["number"].startswith("9.")


def test_a_lower_external_version_is_refused(elasticsearch_server: Server) -> None:
    with httpx.Client(base_url=f"{elasticsearch_server.url}/fence/_doc", timeout=PATIENCE_S) as client:

        def write(version: int) -> int:
            return client.put("/1", params={"version": version, "version_type": "external_gte"}, json={}).status_code

        assert [write(version) for version in (5, 5, 4, 6)] == [201, 200, 409, 200]


def test_english_words_meet_in_their_stem(elasticsearch_server: Server) -> None:
    def tokens(asked: dict[str, object]) -> list[str]:
        answer = httpx.post(f"{elasticsearch_server.url}/_analyze", json=asked, timeout=PATIENCE_S).raise_for_status()
        return [token["token"] for token in answer.json()["tokens"]]

    assert tokens({"analyzer": "english", "text": "The connected memories"}) == ["connect", "memori"]
    chain = {
        "tokenizer": "standard",
        "filter": ["lowercase", "asciifolding", {"type": "stemmer", "language": "english"}],
    }
    assert tokens({**chain, "text": "CAFÉ connections"}) == ["cafe", "connect"]
    grams = {"type": "edge_ngram", "min_gram": 2, "max_gram": 3}
    assert tokens({"tokenizer": "keyword", "filter": [grams], "text": "redis"}) == ["re", "red"]


def test_a_normalizer_folds_a_keyword(elasticsearch_server: Server) -> None:
    normalizer = {"type": "custom", "filter": ["lowercase", "asciifolding"]}
    mapping = {"properties": {"tag": {"type": "keyword", "normalizer": "folded"}}}
    with httpx.Client(base_url=f"{elasticsearch_server.url}/folding", timeout=PATIENCE_S) as client:
        body = {"settings": {"analysis": {"normalizer": {"folded": normalizer}}}, "mappings": mapping}
        client.put("", json=body).raise_for_status()
        client.put("/_doc/1", params={"refresh": "true"}, json={"tag": "CAFÉ"}).raise_for_status()
        assert client.post("/_count", json={"query": {"term": {"tag": "cafe"}}}).json()["count"] == 1


def test_an_analysis_setting_that_has_no_effect_is_refused(elasticsearch_server: Server) -> None:
    asked = {"tokenizer": "keyword", "filter": [{"type": "lowercase", "language": "greek"}], "text": "A"}
    answer = httpx.post(f"{elasticsearch_server.url}/_analyze", json=asked, timeout=PATIENCE_S)
    assert answer.status_code == httpx.codes.BAD_REQUEST
    assert "language" in answer.text
