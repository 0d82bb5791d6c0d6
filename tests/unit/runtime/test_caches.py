"""Caches within a process."""

from openbrain.domain.caches import Fresh, Lru, LruBytes


def test_the_entries_that_were_used_last_are_kept() -> None:
    cache: Lru[str, int] = Lru(2)
    cache["a"], cache["b"] = 1, 2
    assert cache.recent("a") == 1
    cache["c"] = 3
    assert list(cache) == ["a", "c"]
    cache.update({"a": 4, "d": 5})
    assert dict(cache) == {"a": 4, "d": 5}


def test_a_cache_of_no_size_keeps_nothing() -> None:
    cache: Lru[str, int] = Lru(0)
    cache["a"] = 1
    assert not cache


def test_bytes_are_kept_up_to_their_sum() -> None:
    cache: LruBytes[str] = LruBytes(5)
    cache.put("a", b"12")
    cache.put("b", b"123")
    assert cache.recent("a") == {"a": b"12"}
    cache.put("c", b"1")
    assert cache.recent("abc") == {"a": b"12", "c": b"1"}
    cache.put("a", b"1234")
    assert cache.recent("ac") == {"a": b"1234", "c": b"1"}
    cache.put("d", b"123456")
    assert cache.recent("acd") == {"a": b"1234", "c": b"1"}, "it is longer than all may be"
    cache.put("a", b"123456")
    assert cache.recent("ac") == {"c": b"1"}
    cache.clear()
    cache.put("e", b"12345")
    assert len(cache) == 1


def test_what_an_entry_takes_besides_its_bytes_counts_too() -> None:
    cache: LruBytes[str] = LruBytes(10, overhead=4)
    for key in "abc":
        cache.put(key, b"1")
    cache.put("c", b"")
    assert cache.recent("abc") == {"b": b"1", "c": b""}
    cache.put("d", b"1234567")
    assert cache.recent("bcd") == {"b": b"1", "c": b""}


def test_a_value_counts_until_it_is_too_old_and_not_after_the_clock_was_set_back() -> None:
    now = [0.0]
    cached: Fresh[str] = Fresh(lambda: now[0], 10)
    assert cached.get() is None
    cached.set("value", 0)
    now[0] = 9
    assert cached.get() == "value"
    for outside in (10, -1):
        now[0] = outside
        assert cached.get() is None
    assert cached.value == "value"
    now[0] = 5
    cached.expire()
    assert cached.get() is None
