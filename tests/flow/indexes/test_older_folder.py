"""A data folder of an earlier version remains usable: `openbrain up` migrates its database and serves all that is in
it."""

from pathlib import Path

from openbrain.ports.store.generations import IndexKind
from tests.flow.conftest import started, usual
from tests.support.store.older_folder import ENDED, INDEXES, LIVING, NEWEST, SIGNAL, unpack_older_folder
from tests.support.waiting import until


async def test_a_folder_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    folder = unpack_older_folder(tmp_path / "data")
    key = (folder / "key").read_text()

    async with started(usual(folder)) as brain:
        assert (folder / "key").read_text() == key
        assert set(await brain.listed()) == LIVING.keys()
        for memory_id, content in LIVING.items():
            assert (await brain.memory(memory_id))["content"] == content
        for memory_id, (reason, content) in ENDED.items():
            memory = await brain.memory(memory_id)
            assert (memory["content"], memory["reason"]) == (content, reason)
        signal = await brain.http.get(f"/v1/amygdala/signals/{SIGNAL[0]}")
        assert signal.json()["title"] == SIGNAL[1]

        stored = await brain.remember(newest := "Deploys go out on Fridays.", supersedes_id=NEWEST)

        async def renewed() -> bool:
            serving = [await brain.container.store.generations.serving(kind) for kind in IndexKind]
            return not any(index is None or index.name in INDEXES for index in serving)

        await until(renewed)
        for memory_id, content in [*list(LIVING.items())[:2], (stored, newest)]:
            await brain.indexed(memory_id)
            assert (await brain.recalled(content))[0] == memory_id
        await brain.settled()
