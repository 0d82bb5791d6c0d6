"""Builds the Elasticsearch node: Maven fetches the jars, this lays them out as a distribution has them."""

import os
import shutil
import zipfile
from pathlib import Path

from tests.servers import elasticsearch_server as node
from tests.servers.steps import CantInstall, Step, tool

# The network layer is a module with a class loader of its own; all other jars are the server.
_NETWORK = "transport-netty4"
_NETWORK_JARS = ("netty-", "transport-netty4-", "elasticsearch-ssl-config-")
_STAND_IN = "openbrain-stand-in"


def install(step: Step) -> None:
    """Build the node, unless these very sources were built before."""
    if node.STAMP.exists() and node.STAMP.read_text() == node.stamp():
        return
    jdk = node.jdk()
    if jdk is None:
        raise CantInstall(node.no_jdk())
    maven = tool("mvn", "install Maven 3.8 or later")
    step.say(f"building {node.version()} with Maven (a minute the first time)")
    shutil.rmtree(node.BUILT, ignore_errors=True)
    output = node.BUILT / "maven"
    step.run(
        [maven, "-B", "-q", "-f", str(node.PROJECT / "pom.xml"), f"-Doutput={output}", "process-classes"],
        {**os.environ, "JAVA_HOME": str(jdk)},
    )
    _place_server(output / "jars")
    _place_launcher(output / "classes")
    _place_stand_in(output / "classes")
    shutil.rmtree(output)
    node.STAMP.write_text(node.stamp())


def _place_server(jars: Path) -> None:
    lib, network = node.NODE / "lib", node.NODE / "modules" / _NETWORK
    lib.mkdir(parents=True)
    network.mkdir(parents=True)
    for jar in jars.iterdir():
        jar.rename((network if jar.name.startswith(_NETWORK_JARS) else lib) / jar.name)
    _unpack_descriptor(next(network.glob("transport-netty4-*.jar")), network)


def _unpack_descriptor(jar: Path, module: Path) -> None:
    """The published jar carries the files that a distribution has beside it."""
    inside = f"META-INF/es-plugins/{_NETWORK}/"
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.startswith(inside) and not entry.endswith("/"):
                (module / entry.removeprefix(inside)).write_bytes(archive.read(entry))


def _place_launcher(classes: Path) -> None:
    # Alone on the class path: the node refuses a class that stands there and in a module too.
    package = node.LAUNCHER / "openbrain" / "testnode"
    package.mkdir(parents=True)
    for compiled in (classes / "openbrain" / "testnode").glob("*.class"):
        shutil.copy(compiled, package)


def _place_stand_in(classes: Path) -> None:
    module = node.NODE / "modules" / _STAND_IN
    module.mkdir(parents=True)
    with zipfile.ZipFile(module / f"{_STAND_IN}.jar", "w") as jar:
        for compiled in sorted((classes / "openbrain" / "testnode" / "standin").glob("*.class")):
            jar.write(compiled, compiled.relative_to(classes))
    (module / "plugin-descriptor.properties").write_text(
        f"name={_STAND_IN}\n"
        "description=what Maven Central lacks of a distribution\n"
        "version=1\n"
        "classname=openbrain.testnode.standin.StandInPlugin\n"
        f"java.version={node.OLDEST_JAVA}\n"
        f"elasticsearch.version={node.version()}\n"
    )
