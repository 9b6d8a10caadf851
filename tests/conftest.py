from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import shapband as sb
from shapband.estimate.pools import PoolErrors

PATIENCE = 300  # seconds until a test that would wait for ever fails instead

# A busy machine is slow, and that is no fault.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


# Files and folders whose tests take the longest, so that no process has them left at the end. The
# first two compile different kernels: no kernel is compiled by two processes at the same time.
LONGEST = (
    "tests/reproduction",
    "tests/kernels/test_logistic_kernels.py",
    "tests/kernels/test_neighbor_kernels.py",
    "tests/test_tour.py",
    "tests/test_examples.py",
    "tests/test_docs.py",
    "tests/solvers/test_strata.py",
    "tests/statistical/test_unbiased.py",
    "tests/statistical/test_pools_that_differ.py",
    "tests/statistical/test_random_participation.py",
    "tests/engine/workers/test_dask.py",
    "tests/runs/test_kill.py",
)


def group_of(test):
    """The file of a test, or its folder if its files share what takes long to make."""
    file = test.split("::")[0]
    return "tests/reproduction" if file.startswith("tests/reproduction/") else file


def pytest_collection_modifyitems(items):
    """Begin with what takes longest; the others keep their order."""
    places = {group: place for place, group in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(group_of(item.nodeid), len(places)))


def plain_id(value):
    """Name a parameter in printable ASCII without backslashes.

    pytest escapes the names of tests once more each time it collects them in the same process, as
    mutation testing does, and then does not find those that have backslashes.
    """
    letters = " ".join(str(value).split())
    return "".join(one if " " <= one <= "~" and one != "\\" else "_" for one in letters)


def pytest_make_parametrize_id(val):
    return plain_id(val) if isinstance(val, str) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of a group in one process, so that what they share is made once.

    The mark `xdist_group` would do the same, but xdist 3.8 adds the group to an attribute of the
    test that pytest 9.2 does not read, and the tests of a file are then in several processes.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    config.option.loadscopereorder = False  # keep the order of the tests
    return ByGroup(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(scope="session", autouse=True)
def state_directory(tmp_path_factory):
    """Runs of the tests, also in processes of their own, are not remembered in the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def silent_compiling():
    """What a test finds on standard error does not depend on which kernels are stored."""
    from shapband.kernels.compiling import keep_silent  # loads numba, which not all tests want

    keep_silent()


@pytest.fixture(scope="session")
def warm_kernels(wine):
    """Compile what plans use before any time is measured."""
    for solver in (sb.Exact(), sb.Strata(80), sb.Permutation(2), sb.BalancedPermutation(20)):
        sb.value(wine.providers, wine.utility, sampling=sb.Fresh(60), solver=solver, n_games=2)


@pytest.fixture(scope="session")
def wine():
    return sb.datasets.wine()


def one_record_providers(n):
    """Providers for games in which the records play no part."""
    return [sb.Provider(f"p{i}", sb.ArraySource([[float(i)]], [0.0])) for i in range(n)]


def gaussian_providers(means, deviations):
    """Providers of the additive Gaussian game; `stats.norm` is replaced by a fast function."""
    return [
        sb.Provider(f"g{i}", sb.FunctionSource(_gaussian(mean, deviation)))
        for i, (mean, deviation) in enumerate(zip(means, deviations, strict=True))
    ]


def _gaussian(mean, deviation):
    def draw(size, rng):
        x = rng.normal(mean, deviation, size)
        return x[:, None], x

    return draw


def linear_providers(n=5, records=40, features=3, seed=0):
    """Small least-squares providers with their validation rows."""
    rng = np.random.default_rng(seed)
    slope = rng.normal(size=features)

    def make(count):
        X = rng.normal(size=(count, features)) + rng.normal(size=features)
        return X, X @ slope + rng.normal(size=count)

    providers = [sb.Provider(f"site {i}", sb.ArraySource(*make(records))) for i in range(n)]
    return providers, make(100)


def with_sums(estimate, **parts):
    """The estimate from the same games, with other sums over them."""
    return sb.Estimate.of_moments(replace(estimate.moments, **parts))


def with_moments(valuation, **parts):
    """The same valuation, with other sums over its games."""
    return replace(valuation, estimate=with_sums(valuation.estimate, **parts))


def redesigned(valuation, **parts):
    """The same valuation, with other words and facts in its design."""
    return replace(valuation, design=replace(valuation.design, **parts))


def with_pools(estimate, variance, freedom):
    """The estimate whose pools add this variance to the error of every expectation."""
    n = len(estimate.expectation)
    pools = PoolErrors(
        games=estimate.raw_variance / estimate.n_games,
        variance=np.broadcast_to(np.asarray(variance, dtype=float), n),
        freedom=np.broadcast_to(np.asarray(freedom, dtype=float), n),
        hidden=np.zeros(n),
        square=np.zeros(n),
    )
    return with_sums(estimate, pools=pools)


@pytest.fixture(scope="session")
def postgres():
    """The URL of a PostgreSQL server of this process; tests that need one skip aloud without it."""
    from tests.postgres import MISSING, binaries, server

    if binaries() is None:
        pytest.skip(MISSING)
    with server() as url:
        yield url


@pytest.fixture
def collated(request, tmp_path, monkeypatch):
    """Return a function that gives an empty database, and a type of `COLLATED` that it knows."""
    from tests.databases import COLLATED, let_sqlite_be_another, run

    def make(column):
        kind, declared = COLLATED[column]
        if kind != "postgresql":
            scheme = "duckdb" if kind == "duckdb" else "sqlite"
            if kind == "other":
                let_sqlite_be_another(monkeypatch)
            return f"{scheme}:///{tmp_path / 'clinic'}.{scheme}", declared
        url = request.getfixturevalue("postgres")
        run(url, "DROP TABLE IF EXISTS visits CASCADE")
        run(url, "CREATE EXTENSION IF NOT EXISTS citext")
        run(url, "DROP COLLATION IF EXISTS folded")
        run(
            url,
            "CREATE COLLATION folded "
            "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        )
        return url, declared

    return make
