"""Fixtures: one server per version and run, a fresh database and data folder per test."""

import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import SUPPORTED_VERSIONS, Cluster, Kaptanto  # noqa: E402

_clusters = {}


def shared_cluster(version):
    """The server of `version` for this run. A test that changes it for good makes its own."""
    if version not in _clusters:
        _clusters[version] = Cluster(version).create()
    return _clusters[version]


def pytest_sessionfinish():
    for cluster in _clusters.values():
        cluster.destroy()
    _clusters.clear()


@pytest.fixture(params=SUPPORTED_VERSIONS, ids=lambda version: f"pg{version}")
def each_cluster(request):
    """The shared server of each supported version in turn."""
    return shared_cluster(request.param)


@pytest.fixture(params=(SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[-1]), ids=lambda v: f"pg{v}")
def edge_db(request):
    """A database of the oldest and of the newest version, for what hardly depends on it."""
    yield from _database(shared_cluster(request.param))


@pytest.fixture
def cluster():
    """The shared server of the version that Debian ships."""
    return shared_cluster(15)


@pytest.fixture
def newest_cluster():
    return shared_cluster(SUPPORTED_VERSIONS[-1])


@pytest.fixture
def each_db(each_cluster):
    yield from _database(each_cluster)


@pytest.fixture
def db(cluster):
    yield from _database(cluster)


def _database(cluster):
    database = cluster.new_database()
    yield database
    database.drop()


@pytest.fixture
def pipeline(request, tmp_path):
    """Makes Kaptanto objects and ends them with the test; shows their state when it failed."""
    made = []

    def make(*arguments, name=None, **parameters):
        folder = tmp_path / (name or f"k{len(made)}")
        made.append(Kaptanto(folder, *arguments, **parameters))
        return made[-1]

    yield make
    failed = getattr(request.node, "call_report", None) is not None and (
        request.node.call_report.failed
    )
    for kaptanto in made:
        if failed:
            print(f"--- {kaptanto.folder.name}: {kaptanto.describe()}")
        kaptanto.kill()
        # Preallocated journal segments would fill the disk over a whole run.
        shutil.rmtree(kaptanto.data_dir, ignore_errors=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.call_report = outcome.get_result()
