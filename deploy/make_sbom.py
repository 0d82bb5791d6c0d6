"""Print the installed Python and Debian packages as CycloneDX. `make sbom` runs it in the image.

It needs only Python, so that the image needs no tool for it.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

DPKG = Path("/var/lib/dpkg/status")


def python_packages() -> Iterator[dict[str, Any]]:
    """The packages of this interpreter's environment."""
    for found in distributions():
        name = found.metadata["Name"]
        url = f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{found.version}"
        yield _component(name, found.version, url, _licence(found.metadata))


def _licence(metadata: PackageMetadata) -> str:
    said = metadata.get("License-Expression") or metadata.get("License") or ""
    classifiers = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if "License ::" in line]
    # Some packages put the full licence text there.
    return said if said and "\n" not in said else " / ".join(classifiers)


def debian_packages(status: str) -> Iterator[dict[str, Any]]:
    """The installed packages in the text of dpkg's status file."""
    for entry in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and not line.startswith(" "))
        if fields.get("Status", "").endswith(" installed"):
            name, version = fields["Package"], fields["Version"]
            url = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}?arch={fields['Architecture']}"
            yield _component(name, version, url, "")


def _component(name: str, version: str, url: str, licence: str) -> dict[str, Any]:
    licences = [{"license": {"name": licence}}] if licence else []
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url, "licenses": licences}


def sbom() -> dict[str, Any]:
    """The document, sorted, so that the same image gives the same text."""
    debian = debian_packages(DPKG.read_text(encoding="utf-8")) if DPKG.exists() else ()
    components = {each["purl"]: each for each in (*python_packages(), *debian)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": "openbrain"}},
        "components": [components[url] for url in sorted(components)],
    }


if __name__ == "__main__":
    json.dump(sbom(), sys.stdout, indent=1)
