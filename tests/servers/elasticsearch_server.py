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
PACKED_LAUNCHER = BUILT / "launcher.jar"
STAMP = BUILT / "stamp"
OLDEST_JAVA = 21
RECORDING_JAVA = 25
"""The first that records its start in one step."""


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


def recorded_start() -> Path:
    """Return the file with the recorded start of this node on this JDK, which may be missing."""
    release = Path(f"{jdk()}/release").read_bytes()
    return BUILT / f"start-{hashlib.sha256(release + stamp().encode()).hexdigest()[:16]}"


def start_state() -> State:
    """Return whether the start is recorded: each then takes two thirds of the CPU time."""
    found = state()
    if isinstance(found, Missing):
        return found
    if _records() and not recorded_start().exists():
        return Missing("no start of Elasticsearch is recorded yet: run `make servers`")
    return Available(found.version)


def _records() -> bool:
    home = jdk()
    return home is not None and _java_version(home) >= RECORDING_JAVA


def command(port: int, data: Path, *more: str, packed: bool) -> list[str]:
    """`more`: options of Java. `packed`: with the launcher that can be recorded."""
    return [
        *(f"{jdk()}/bin/java", *more, "-Xms512m", "-Xmx512m", "-XX:MaxDirectMemorySize=256m"),
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
        *("--class-path", str(PACKED_LAUNCHER if packed else LAUNCHER)),
        *("openbrain.testnode.Launcher", str(NODE), str(data), str(port)),
    ]


def recipe() -> Recipe:
    def usual(port: int, data: Path) -> list[str]:
        if _records() and (start := recorded_start()).exists():
            return command(port, data, f"-XX:AOTCache={start}", packed=True)
        return command(port, data, packed=False)

    return Recipe(
        name="elasticsearch",
        url="http://127.0.0.1:{port}",
        command=usual,
        answers=lambda port: http_ok(port, "/_cluster/health?wait_for_status=yellow&timeout=1s"),
    )
