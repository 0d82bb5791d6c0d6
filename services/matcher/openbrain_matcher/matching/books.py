"""LRU cache of books (standing queries per workspace), kept in sync with the database."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from openbrain.domain.memory import DAY
from openbrain.ports.clock import Clock
from openbrain.ports.subscriptions import StandingQueries
from openbrain_matcher.matching.book import Book

MOST_QUERIES = 60_000
"""Maximum queries in all books, about 100 MB with a model of 384 dimensions. The book in use is kept at any size."""
KEPT = DAY // 2
"""Age at which a book is rebuilt: the database keeps removed queries only for a day."""
_PAGE = 500


class Books:
    """The books by workspace, the most recently used last."""

    def __init__(self, queries: StandingQueries, clock: Clock) -> None:
        self._queries, self._clock = queries, clock
        self._books: OrderedDict[str, tuple[Book, int]] = OrderedDict()

    async def fresh(self, workspace_ids: Sequence[str]) -> Mapping[str, Book]:
        """The books of those workspaces that have standing queries, with every change committed before the call."""
        changes = await self._queries.last_changes(workspace_ids)
        for workspace_id in set(workspace_ids) - changes.keys():
            self._books.pop(workspace_id, None)
        return {workspace_id: await self._fresh(workspace_id, seq) for workspace_id, seq in changes.items()}

    async def _fresh(self, workspace_id: str, seq: int) -> Book:
        book, made_at = self._books.pop(workspace_id, (Book(), self._clock.now()))
        # A book ahead of the counter is of before a restore of the database.
        if self._clock.now() - made_at > KEPT or book.seq > seq:
            book, made_at = Book(), self._clock.now()
        while book.seq < seq:
            changed = await self._queries.changed_queries(workspace_id, book.seq, _PAGE)
            if not changed:
                break
            with_vectors = [query.id for query in changed if query.deleted_at is None and query.query]
            book.apply(changed, await self._queries.query_vectors(with_vectors))
        self._books[workspace_id] = book, made_at
        self._forget_some()
        return book

    def _forget_some(self) -> None:
        total = sum(len(book) for book, _ in self._books.values())
        while total > MOST_QUERIES and len(self._books) > 1:
            _, (book, _) = self._books.popitem(last=False)
            total -= len(book)
