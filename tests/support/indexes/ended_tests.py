"""Deletes the indexes of ended tests from the run's Elasticsearch, ten tests at a time.

Every index that stays makes the next one more expensive, and deleting one alone takes half the time of creating it.
"""

import httpx

from tests.support.waiting import PATIENCE_S

_TOGETHER = 10
_ended: list[str] = []


def delete_later(url: str, prefix: str) -> None:
    """Delete the indexes and templates with this prefix, which only an ended test used, together with those of
    others."""
    _ended.append(prefix)
    if len(_ended) < _TOGETHER:
        return
    prefixes = tuple(_ended)
    _ended.clear()
    # Without certificates, which take longer to load than the requests take.
    with httpx.Client(base_url=url, timeout=PATIENCE_S, verify=False) as http:
        patterns = ",".join(f"{each}*" for each in prefixes)
        _delete(http, "/", list(_get(http, f"/{patterns}/_alias?expand_wildcards=all")))
        templates = _get(http, "/_index_template?filter_path=index_templates.name").get("index_templates", [])
        names = [each["name"] for each in templates]
        _delete(http, "/_index_template/", [name for name in names if name.startswith(prefixes)])


def _get(http: httpx.Client, path: str) -> dict[str, list[dict[str, str]]]:
    answer = http.get(path).raise_for_status()
    found: dict[str, list[dict[str, str]]] = answer.json()
    return found


def _delete(http: httpx.Client, path: str, names: list[str]) -> None:
    if names:
        http.delete(path + ",".join(names)).raise_for_status()
