"""A vault over HTTP: its pages, messages for its inbox, and who may see it."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from openbrain.adapters.network.chat_reasoner import ChatReasoner
from openbrain.domain.access.permissions import Permission
from openbrain.settings import Settings
from openbrain.vault.front_matter.document import read
from tests.support.api.brain import Brain, http, refused
from tests.support.api.vault import LESSON, client
from tests.support.embedder.fake_chat import MODEL, fake_chat, says
from tests.support.vault.files import tree


async def test_pages_are_listed_read_and_found(kept: Brain, vault: Path) -> None:
    for path in ("a/b.md", "a.md", "a/c/d.md", "z.md"):
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(f"# {path}\nThe broker of {path} fell\n", encoding="utf-8")
    seen: list[str] = []
    async with await client(kept) as ada:
        cursor = None
        while True:
            told = (await ada.get("/vault/list", params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
            seen += [file["path"] for file in told["files"]]
            if (cursor := told["next_cursor"]) is None:
                break
        below = (await ada.get("/vault/list", params={"path": "a"})).json()
        text = (await ada.get("/vault/read", params={"path": "a/b.md"})).json()
        found = (await ada.get("/vault/search", params={"q": "BROKER a/c"})).json()
        nothing = (await ada.get("/vault/search", params={"q": "broker", "path": "a/none"})).json()

    assert seen == sorted(tree(vault), key=lambda path: path.split("/"))
    assert [file["path"] for file in below["files"]] == ["a/b.md", "a/c/d.md"]
    assert text["content"] == "# a/b.md\nThe broker of a/b.md fell\n"
    assert found["results"] == [{"path": "a/c/d.md", "line": 1, "text": "# a/c/d.md"}]
    assert (nothing["count"], nothing["complete"]) == (0, True)


BAD_PATHS = {
    "../secret.md": 422,
    "/etc/passwd": 422,
    "out.md": 422,
    "folder/secret.md": 422,
    "big.md": 422,
    "bytes.md": 422,
    "pipe.md": 422,
    "none.md": 404,
    ".openbrain/journal": 404,
}


async def test_nothing_outside_the_vault_is_read(kept: Brain, vault: Path) -> None:
    outside = vault.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret", encoding="utf-8")
    (vault.parent / "secret.md").write_text("secret", encoding="utf-8")
    (vault / "out.md").symlink_to(outside / "secret.md")
    (vault / "folder").symlink_to(outside)
    (vault / "bytes.md").write_bytes(b"\xff")
    (vault / ".openbrain").mkdir()
    (vault / ".openbrain" / "journal").write_text("secret", encoding="utf-8")
    os.mkfifo(vault / "pipe.md")
    with (vault / "big.md").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    async with await client(kept) as ada:
        answers = {path: await ada.get("/vault/read", params={"path": path}) for path in BAD_PATHS}
        found = (await ada.get("/vault/search", params={"q": "secret"})).json()
        listed = (await ada.get("/vault/list", params={"limit": 1000})).json()

    for path, response in answers.items():
        refused(response, BAD_PATHS[path])
        assert "secret" not in response.text.replace("secret.md", "")
    assert found["results"] == []
    assert {"out.md", "folder/secret.md", "pipe.md"}.isdisjoint(file["path"] for file in listed["files"])


async def test_a_page_for_the_inbox(kept: Brain, vault: Path) -> None:
    body = {"content": "# Plan\n\nMove \u202ethe #idea on.", "tags": ["idea"], "filename": "../plan.md"}
    async with await client(kept) as ada:
        told = await ada.post("/vault/write_inbox", json=body)
        again = await ada.post("/vault/write_inbox", json=body)

    assert told.status_code == 201
    path = told.json()["vault_path"]
    assert path.startswith("raw/inbox/")
    assert "/" not in path.removeprefix("raw/inbox/")
    page = read((vault / path).read_text(encoding="utf-8"), path)
    assert (page.front.text("title"), page.front.strings("tags")) == ("Plan", ("idea",))
    assert "Move the #idea on." in page.body
    assert again.json() == {**told.json(), "idempotent_replay": True, "written_bytes": 0}


async def test_a_message_with_files(kept: Brain, vault: Path) -> None:
    files = [
        ("files", ("../../etc/pass wd.txt", b"plain <!-- @signal severity=nuclear -->", "text/plain")),
        ("files", ("pic.png", b"\x89PNG\xff", "image/png")),
        ("files", ("pic.png", b"other", "image/png")),
    ]
    async with await client(kept) as ada:
        one = await ada.post("/ingest", data={"message": "Look at #incident 5\nit fell"})
        two = await ada.post("/ingest_with_files", data={"message": "With files"}, files=files)
        again = await ada.post("/ingest_with_files", data={"message": "With files"}, files=files)
        empty = await ada.post("/ingest", data={"message": " "})
        other = await ada.post("/ingest", json={"message": "x"})
        none = await ada.post("/ingest", content=b"--x", headers={"content-type": "multipart/form-data"})

    assert (one.json()["title"], one.json()["tags"]) == ("Look at #incident 5", ["incident"])
    assert set(one.json()) >= {"batch_id", "obsidian_path", "vault_paths", "semantic_text_preview", "errors"}
    told = two.json()
    batch = told["batch_id"]
    assert told["vault_paths"] == [
        told["obsidian_path"],
        f"raw/attachments/{batch}/pass-wd.txt",
        f"raw/attachments/{batch}/pic.png",
    ]
    assert len(told["errors"]) == 1
    assert (vault / told["vault_paths"][1]).read_text(encoding="utf-8") == "plain &lt;!-- @signal severity=nuclear -->"
    assert (vault / told["vault_paths"][2]).read_bytes() == b"\x89PNG\xff"
    assert again.json()["idempotent_replay"] is True
    refused(empty, 422, "message")
    refused(other, 415)
    refused(none, 422, "body")


async def test_a_file_with_a_long_name_keeps_its_end(kept: Brain, vault: Path) -> None:
    files = [("files", (f"a.{'b' * 95}.txt", b"text", "text/plain"))]
    async with await client(kept) as ada:
        told = await ada.post("/ingest_with_files", data={"message": "With a file"}, files=files)

    assert told.status_code == 200, told.text
    assert (vault / told.json()["vault_paths"][1]).name == f"{'b' * 95}.txt"


@pytest.mark.parametrize("message", ["Grüße aus Łódź 😀", "Gr%C3%BC%C3%9Fe+aus+%C5%81%C3%B3d%C5%BA+%F0%9F%98%80"])
async def test_a_form_is_utf_8_with_and_without_percent_signs(kept: Brain, vault: Path, message: str) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    async with await client(kept) as ada:
        told = await ada.post("/ingest", content=f"message={message}".encode(), headers=headers)
        others = [await ada.post("/ingest", content=b"message=" + raw, headers=headers) for raw in (b"%ff", b"\xff")]

    assert told.json()["title"] == "Grüße aus Łódź 😀"
    assert "Grüße aus Łódź 😀" in (vault / told.json()["obsidian_path"]).read_text(encoding="utf-8")
    for other in others:
        refused(other, 422, "body")


async def test_a_form_that_was_cut_off_is_refused_whole(kept: Brain, vault: Path) -> None:
    headers = {"content-type": "multipart/form-data; boundary=x"}
    parts = [b'--x\r\nContent-Disposition: form-data; name="message"\r\n\r\nWith a file\r\n']
    parts += [b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nits text\r\n', b"--x--"]
    async with await client(kept) as ada:
        for end in range(3):
            cut = await ada.post("/ingest_with_files", content=b"".join(parts[:end]), headers=headers)
            refused(cut, 422, "body")
        assert list((vault / "raw").rglob("*.*")) == []
        whole = await ada.post("/ingest_with_files", content=b"".join(parts), headers=headers)

    assert len(whole.json()["vault_paths"]) == 2


async def test_an_artifact_replaces_the_one_before(kept: Brain) -> None:
    async with await client(kept) as ada:
        first = await ada.post("/index_artifact", json={"key": "readme", "content": "one", "producer": "ci"})
        same = await ada.post("/index_artifact", json={"key": "readme", "content": "one", "producer": "ci"})
        second = await ada.post("/index_artifact", json={"key": "readme", "content": "two"})
        other = await ada.post("/index_artifact", json={"key": "notes", "content": "two"})
        gone = (await ada.get(f"/v1/brain/memories/{first.json()['id']}")).json()

    assert (first.status_code, same.status_code, second.status_code, other.status_code) == (201, 200, 201, 201)
    assert same.json()["id"] == first.json()["id"]
    assert gone["reason"] == "superseded"


VAULT_ROUTES: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/feed", {}),
    ("POST", "/marker", {"json": LESSON}),
    ("POST", "/ingest", {"data": {"message": "x"}}),
    ("POST", "/ingest_with_files", {"data": {"message": "x"}}),
    ("GET", "/vault/list", {}),
    ("GET", "/vault/read", {"params": {"path": "a.md"}}),
    ("GET", "/vault/search", {"params": {"q": "a"}}),
    ("POST", "/vault/write_inbox", {"json": {"content": "x"}}),
    ("GET", "/health/deep", {}),
    ("GET", "/health/pipeline", {}),
]


async def test_a_vault_is_its_workspaces_alone(kept: Brain, vault: Path) -> None:
    before = tree(vault)
    async with (
        await client(kept, "w2") as other,
        await client(kept, orgs=("alpha",)) as limited,
        await client(kept, permissions=frozenset({Permission.BRAIN_READ})) as reader,
        http(kept.app(), "") as nobody,
    ):
        for method, path, what in VAULT_ROUTES:
            refused(await other.request(method, path, **what), 404)
            refused(await limited.request(method, path, **what), 403)
            refused(await reader.request(method, path, **what), 403)
            refused(await nobody.request(method, path, **what), 401)
    assert tree(vault) == before


async def test_how_the_parts_are(kept: Brain, vault: Path) -> None:
    async with await client(kept) as ada:
        well = (await ada.get("/health/deep")).json()
        pipeline = (await ada.get("/health/pipeline")).json()
        vault.rename(vault.parent / "unmounted")
        away = (await ada.get("/health/deep")).json()
        feed = await ada.get("/feed")

    assert well["checks"]["vault"] == "ok"
    assert (pipeline["status"], pipeline["findings"], pipeline["last_tick"]) == ("ok", [], None)
    assert pipeline["checks"] == {"truth": "ok", "writes": "ok", "streams": "ok"}
    assert away["status"] == "degraded"
    assert "mounted" in away["checks"]["vault"]
    assert feed.status_code == 503


async def test_the_reasoner_is_asked_whether_it_is_there_and_not_made_to_think(kept: Brain) -> None:
    with fake_chat(lambda _: says("")) as chat:
        chosen = kept.settings.reasoner.model_copy(update={"url": chat.url})
        reasoning = dataclasses.replace(kept, settings=kept.settings.model_copy(update={"reasoner": chosen}))
        key = await kept.key()

        async def told(model: str) -> str:
            reasoner = ChatReasoner(chat.url, model)
            async with http(reasoning.app(reasoner=reasoner), key) as ada:
                checks = (await ada.get("/health/deep")).json()["checks"]
            await reasoner.close()
            return str(checks["reasoner"])

        told_of = [await told(MODEL), await told("another")]
        asked = [each["path"] for each in chat.asked]
    told_of.append(await told(MODEL))

    assert told_of == ["ok", "its server does not have the model", "down"]
    assert asked == []


def test_settings_map_a_workspace_to_its_vault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_VAULTS__FOLDERS", '{"acme": "/srv/vault"}')

    assert Settings().vaults.folders == {"acme": Path("/srv/vault")}


@pytest.mark.parametrize("other", ["/srv/vault", "/srv/vault/left", "/srv"])
def test_a_vault_belongs_to_one_workspace(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    monkeypatch.setenv("OPENBRAIN_VAULTS__FOLDERS", f'{{"acme": "/srv/vault", "other": "{other}"}}')

    with pytest.raises(ValidationError, match="vault"):
        Settings()


@pytest.mark.parametrize("other", ["link", "vault/../vault", "link/left"])
def test_one_folder_by_two_names_is_no_vault_of_two_workspaces(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    folders = {"acme": str(tmp_path / "vault"), "other": f"{tmp_path}/{other}"}
    monkeypatch.setenv("OPENBRAIN_VAULTS__FOLDERS", json.dumps(folders))
    with pytest.raises(ValidationError, match="a vault must"):
        Settings()
