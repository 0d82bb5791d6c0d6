"""Elasticsearch: one real node, put together from the artifacts of Maven Central."""

import hashlib
import os
import re
import shutil
from functools import cache
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME, SOURCES
from tests.servers.processes.probes import http_ok
from tests.servers.processes.process import Recipe

INSTALLER = SOURCES / "install" / "elasticsearch_node.py"
PROJECT = SOURCES / "install" / "elasticsearch"
BUILT = HOME / "elasticsearch"
NODE = BUILT / "node"
LAUNCHER = BUILT / "launcher"
STAMP = BUILT / "stamp"
OLDEST_JAVA = 21


def state() -> State:
    if jdk() is None:
        return Missing(no_jdk())
    if not STAMP.exists() or STAMP.read_text() != stamp():
        return Missing("it isn't built here yet: run `make servers`")
    return Available(version())


def no_jdk() -> str:
    return f"no JDK {OLDEST_JAVA} or later: install one and set JAVA_HOME to it"


def stamp() -> str:
    """Return a digest of everything that the built node depends on."""
    digest = hashlib.sha256(INSTALLER.read_bytes())
    for file in sorted(path for path in PROJECT.rglob("*") if path.suffix in {".xml", ".java"}):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def version() -> str:
    found = re.search(r"<elasticsearch.version>(.*?)<", (PROJECT / "pom.xml").read_text())
    return found.group(1) if found else "0"


@cache
def jdk() -> Path | None:
    """Return the first JDK that is new enough: JAVA_HOME, the java on the PATH, then the folders next to that one."""
    named = [Path(os.environ[name]) for name in ("ES_JAVA_HOME", "JAVA_HOME") if os.environ.get(name)]
    java = shutil.which("java")
    default = [Path(java).resolve().parent.parent] if java else []
    beside = sorted(default[0].parent.iterdir()) if default else []
    return next((home for home in (*named, *default, *beside) if _java_version(home) >= OLDEST_JAVA), None)


def _java_version(home: Path) -> int:
    if not (home / "bin" / "javac").exists() or not (home / "release").exists():
        return 0
    found = re.search(r'JAVA_VERSION="(\d+)', (home / "release").read_text())
    return int(found.group(1)) if found else 0


def recipe() -> Recipe:
    def command(port: int, data: Path) -> list[str]:
        return [
            *(f"{jdk()}/bin/java", "-Xms512m", "-Xmx512m", "-XX:MaxDirectMemorySize=256m"),
            # A test server runs for seconds: the optimizing compiler would take half of its CPU time without a benefit.
            *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            # The logger's hooks and beans and netty's shortcuts: the node has its own and refuses these.
            *("-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true"),
            *("-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true"),
            *("-Dio.netty.recycler.maxCapacityPerThread=0", f"-Djava.io.tmpdir={data}"),
            f"-Des.nativelibs.path={NODE}/lib/platform",
            "--enable-native-access=org.apache.lucene.core,org.elasticsearch.nativeaccess,ALL-UNNAMED",
            *("--add-modules", "ALL-MODULE-PATH,jdk.incubator.vector", "--module-path", f"{NODE}/lib"),
            *os.environ.get("ES_JAVA_OPTS", "").split(),
            *("--class-path", str(LAUNCHER), "openbrain.testnode.Launcher", str(NODE), str(data), str(port)),
        ]

    return Recipe(
        name="elasticsearch",
        url="http://127.0.0.1:{port}",
        command=command,
        answers=lambda port: http_ok(port, "/_cluster/health?wait_for_status=yellow&timeout=1s"),
    )
