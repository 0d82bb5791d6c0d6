"""One generation on disk: opened by one process, written with the fence, searched by many threads."""

import contextlib
import fcntl
import shutil
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from tantivy import DocAddress, Document, Index, IndexWriter, Occur, Query, Searcher

from openbrain.adapters.indexes.entries import highest_per_id
from openbrain.adapters.indexes.generation_folders import DamagedError, damaged, same_folder, set_aside_index
from openbrain.adapters.indexes.seal import Seal, break_seal, close_with_seal
from openbrain.adapters.tantivy import reconciliation
from openbrain.adapters.tantivy.checksums import first_damaged
from openbrain.adapters.tantivy.documents import (
    FIELDS,
    NAMED,
    PASSAGE,
    documents,
    english,
    memory_ids,
    name_key,
    numbers,
    passage_of,
)
from openbrain.adapters.tantivy.names import name_keys, question_keys
from openbrain.adapters.tantivy.queries import any_word, compiled, filtered
from openbrain.adapters.tantivy.removed_entries import Unclean, unclean
from openbrain.adapters.tantivy.scoring import Scoring
from openbrain.adapters.tantivy.search import Reader
from openbrain.domain.errors import Invalid, SetupError, TryLater
from openbrain.ports.index import Hit, Standing, TextEntry, TextSearch, Tombstone

_HEAP = 15_000_000
"""The minimum that tantivy accepts. With one thread a commit makes one segment, at a fraction of the cost of one per
core."""

Batch = Sequence[TextEntry | Tombstone]
Failures = dict[str, Exception]


class Generation:
    """An open generation; holds the index's lock until `close`."""

    def __init__(self, path: Path) -> None:
        """Open or create it. `SetupError` if another process has it or another builder made it."""
        self._path = path
        self._english = english()
        # An analyzer can be used by one thread at a time.
        self._writing_english = english()
        try:
            self._index = self._open()
        except DamagedError as error:
            set_aside_index(path, f"the text index {path.name} is damaged ({error})")
            self._index = self._open()
        self._inode = path.stat().st_ino
        self._writer: IndexWriter | None = self._take()
        self._writing = threading.Lock()
        self._commits = 0
        self._known: dict[str, tuple[int, bool]] = {}
        """By keyword: the number of commits when it was looked up, and whether an entry has it."""
        self._closed = False

    def _open(self) -> Index:
        if not self._path.exists():
            _create(self._path)
        elif _in_use(self._path):
            pass  # taking the writer raises the error
        elif (seal := break_seal(self._path)) is Seal.BROKEN:
            raise DamagedError("files are not as they were when it was closed")
        elif seal is Seal.MISSING and (wrong := first_damaged(self._path)):
            raise DamagedError(f"{wrong} is not as it was written")
        try:
            index = Index(FIELDS, str(self._path))
            index.register_tokenizer("english", self._english)
            index.config_reader("manual", 0)
            index.reload()
        except BaseException as error:
            if isinstance(error, ValueError) and "schema does not match" in str(error):
                raise SetupError(
                    f"the text index {self._path} is of another version: move the folder away and reindex"
                ) from error
            # A panic of tantivy is no Exception.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            if damaged(error):
                raise DamagedError(str(error)) from error
            raise TryLater(f"the text index {self._path} can't be opened: {error}") from error
        return index

    def gone(self) -> bool:
        """True if the opened folder was removed, emptied or replaced."""
        return not same_folder(self._path, self._inode, "meta.json")

    def _take(self) -> IndexWriter:
        try:
            return self._index.writer(_HEAP, 1)
        except ValueError as error:
            if "LockBusy" not in str(error):
                raise TryLater(f"the text index {self._path} can't be written: {error}") from error
            raise SetupError(
                f"the text index {self._path} belongs to another process: an embedded index serves one process only; "
                "stop the other, or set OPENBRAIN_TEXT__URL to an Elasticsearch"
            ) from None

    def write(self, batches: Sequence[Batch]) -> list[Failures]:
        """Write all batches in one commit, with the fence, and make it visible. Return the failures of each batch.
        `TryLater` if the disk refuses; then nothing is written."""
        with self._writing:
            return self._write(batches)

    def _write(self, batches: Sequence[Batch]) -> list[Failures]:
        pending, indexed, failures = self._fenced(batches)
        if pending:
            self._commit([entry_id for entry_id in pending if entry_id in indexed], chain(*pending.values()))
        return failures

    def _commit(self, removed: Iterable[str], added: Iterable[Document]) -> None:
        if self._closed:
            raise TryLater(f"the text index {self._path} is closed")
        writer = self._writer or self._take()
        self._writer = None
        try:
            for entry_id in removed:
                writer.delete_documents_by_term("id", entry_id)
                writer.delete_documents_by_term("keyword", passage_of(entry_id))
            for item in added:
                writer.add_document(item)
            writer.commit()
        except ValueError as error:
            # The writer's state is unknown: drop it with its uncommitted changes; the next write opens another. Delete
            # it from this frame too, which the error keeps alive: the lock must be free by then.
            del writer
            raise TryLater(f"the text index {self._path} can't be written, is the disk full? {error}") from error
        self._index.reload()
        self._commits += 1
        self._writer = writer

    def _fenced(self, batches: Sequence[Batch]) -> tuple[dict[str, list[Document]], Mapping[str, int], list[Failures]]:
        """Return the documents to write, the stored revisions of their ids, and the entries of each batch that can't
        become a document."""
        indexed = self._revisions({entry.id for batch in batches for entry in batch})
        revisions = dict(indexed)
        pending: dict[str, list[Document]] = {}
        failures: list[Failures] = []
        for batch in batches:
            failed: Failures = {}
            for entry in highest_per_id(batch).values():
                if entry.revision < revisions.get(entry.id, entry.revision):
                    continue
                try:
                    pending[entry.id] = documents(entry, self._keys(entry))
                except (ValueError, TypeError):
                    failed[entry.id] = Invalid("", "the entry can't be indexed: a number or string is out of range")
                else:
                    revisions[entry.id] = entry.revision
            failures.append(failed)
        return pending, indexed, failures

    def _keys(self, entry: TextEntry | Tombstone) -> Sequence[str]:
        return name_keys(entry.names, self._writing_english) if isinstance(entry, TextEntry) and entry.names else ()

    def _revisions(self, ids: Iterable[str]) -> dict[str, int]:
        searcher = self._index.searcher()
        # Most ids are new; the term's frequency shows that at a fraction of the cost of a search.
        revisions = {
            entry_id: address
            for entry_id in ids
            if searcher.doc_freq("id", entry_id) and (address := self._address(searcher, entry_id)) is not None
        }
        return dict(zip(revisions, numbers(searcher, "revision", list(revisions.values())), strict=True))

    def _address(self, searcher: Searcher, entry_id: str) -> DocAddress | None:
        hits = searcher.search(Query.term_query(FIELDS, "id", entry_id, "basic"), limit=1, count=False).hits
        return hits[0][1] if hits else None

    def search(self, searches: Sequence[TextSearch]) -> list[list[Hit]]:
        """Return the hits of each search, best first. A tombstone has no text and is never found."""
        searcher = self._index.searcher()
        scoring = Scoring(searcher, has_passages=self._any_has(PASSAGE))
        within = {item: compiled(item) for item in {search.condition for search in searches}}
        hits: list[list[Hit]] = []
        for item in searches:
            question = any_word(item.query, self._english)
            if question is None or item.limit < 1:
                hits.append([])
            else:
                hits.append(scoring.best(question, within[item.condition], item.limit))
        return hits

    def has_names(self) -> bool:
        """True if an entry has names, or one that was removed lately."""
        return self._any_has(NAMED)

    def _any_has(self, keyword: str) -> bool:
        """Looked up once after each commit: it takes a tenth of a search."""
        commits = self._commits
        looked_up, known = self._known.get(keyword, (-1, False))
        if looked_up != commits:
            known = bool(self._index.searcher().doc_freq("keyword", keyword))
            self._known[keyword] = commits, known
        return known

    def named(self, search: TextSearch) -> list[str]:
        """Return the memories with one of the keys of the query's words."""
        searcher = self._index.searcher()
        analyzer = english()
        question_terms = map(name_key, question_keys(search.query, analyzer))
        # Few of its words begin a name: looking each one up costs a tenth of a search without hits.
        keys = {key: many for key in question_terms if (many := searcher.doc_freq("keyword", key))}
        if not keys or search.limit < 1:
            return []
        some = Query.const_score_query(Query.term_set_query(FIELDS, "keyword", list(keys)), 0.0)
        # Many may share a first word: the other words of a name are in the text too.
        if sum(keys.values()) > search.limit and (words := any_word(search.query, analyzer)) is not None:
            some = Query.boolean_query([(Occur.Must, some), (Occur.Should, words)])
        query = filtered(some, compiled(search.condition))
        return memory_ids(searcher, [place for _, place in searcher.search(query, search.limit, count=False).hits])

    def reader(self) -> Reader:
        """Return a snapshot for paged searches and counts."""
        return Reader(self._index.searcher(), self._english)

    def read(self, ids: Sequence[str]) -> dict[str, Standing]:
        """Return the stored states of these ids."""
        searcher = self._index.searcher()
        known = {entry_id: self._address(searcher, entry_id) for entry_id in dict.fromkeys(ids)}
        addresses = {entry_id: address for entry_id, address in known.items() if address is not None}
        entries = reconciliation.standings(searcher, list(addresses.values()))
        return dict(zip(addresses, entries, strict=True))

    def searcher(self) -> Searcher:
        """Return a searcher over the current state."""
        return self._index.searcher()

    def drop_tombstones(self, before: int) -> int:
        """Remove tombstones from before this time; other writes wait meanwhile."""
        with self._writing:
            ids = reconciliation.old_tombstones(self._index.searcher(), before)
            if ids:
                self._commit(ids, ())
            return len(ids)

    def unclean(self, segments: Sequence[str] | None) -> Unclean:
        """Return the result of `removed_entries.unclean`, after deleting the files of removed segments."""
        with self._writing:
            if self._writer is not None:
                self._writer.garbage_collect_files()
            return unclean(self._index, self._path, segments)

    def close(self) -> None:
        """Wait for running writes, even abandoned ones, and for merges; then release the lock. Abandoned ones that have
        not begun are refused: they would break the seal, and keep the lock."""
        with self._writing:
            self._closed = True
            writer, self._writer = self._writer, None
            if writer is not None:
                with contextlib.suppress(ValueError):  # a merge that fails loses nothing
                    writer.wait_merging_threads()
                    if not self.gone():
                        close_with_seal(self._path)


def _in_use(path: Path) -> bool:
    """True if a process is writing to it: then changed files are no damage."""
    try:
        with (path / ".tantivy-writer.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _create(path: Path) -> None:
    """Create it next to its path, then rename it: if two processes create it at once, one succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        Index(FIELDS, str(beside))
        beside.rename(path)
    except OSError:
        if not path.exists():
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
