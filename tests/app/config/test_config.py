"""A configuration becomes the plan that it describes."""

import hashlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.runs.small import ignore, resume, start

import shapband as sb
from shapband.app.config.config import Config
from shapband.engine.play import play
from shapband.errors import InvalidInput, RunError
from shapband.runs.fingerprints import fingerprint, fingerprint_object
from shapband.secrets import hide

WINE = """
n_games = 20
seed = 3
providers = [{ source = { kind = "task", task = "wine" } }]
sampling = { kind = "pooled", n_pool = 250, n_boot = 60 }
"""
FRESH = 'n_games = 20\nseed = 3\nsampling = { kind = "fresh", n_sample = 10 }\n'


@pytest.fixture
def folder(tmp_path):
    """Two sites in one file and in two, and validation rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 2)), columns=["age", "dose"])
    frame["stay"] = frame["age"] - 2 * frame["dose"] + rng.normal(size=90)
    frame["site"] = np.repeat(["north", "south", "none"], 30)
    frame[:60].to_csv(tmp_path / "all.csv", index=False)
    for site in ("north", "south"):
        rows = frame[frame["site"] == site].drop(columns="site")
        rows.to_csv(tmp_path / f"{site}.csv", index=False)
    frame[60:].to_csv(tmp_path / "validation.csv", index=False, sep=";")
    return tmp_path


VALIDATION = (
    'validation = { kind = "csv", path = "validation.csv", separator = ";", target = "stay", '
    'features = ["age", "dose"] }'
)
ONE_FILE = FRESH + (
    'providers = [{ source = { kind = "csv", path = "all.csv", by = "site", target = "stay" } }]\n'
)
TWO_FILES = (
    FRESH
    + """
providers = [
    { name = "north", source = { kind = "csv", path = "north.csv", target = "stay" } },
    { name = "south", source = { kind = "csv", path = "south.csv", target = "stay" } },
]
"""
)
LINEAR = f'[utility]\nkind = "linear"\n{VALIDATION}\n'


def played(config: Config, base: Path) -> sb.Valuation:
    built = config.build(base)
    with built.workers as workers:
        return play(built.arguments, workers, lambda standing: None)


def test_a_task_brings_providers_and_utility():
    task = sb.datasets.wine()
    by_hand = sb.value(
        task.providers, task.utility, sampling=sb.Pooled(250, 60), n_games=20, seed=3
    )
    np.testing.assert_array_equal(played(Config.parse(WINE), Path()).games, by_hand.games)


def test_a_utility_of_ones_own_uses_the_validation_rows_of_the_task():
    config = Config.parse(WINE + '[utility]\nkind = "neighbors"\nk = 3\ntask = "regression"\n')
    task = sb.datasets.wine()
    by_hand = sb.value(
        task.providers, sb.NeighborUtility(task.X_val, task.y_val, k=3, task="regression"),
        sampling=sb.Pooled(250, 60), n_games=20, seed=3,
    )  # fmt: skip
    np.testing.assert_array_equal(played(config, Path()).games, by_hand.games)


def test_a_network_has_the_settings_of_the_file():
    table = 'kind = "network"\nhidden = [4, 3]\nalpha = 0.5\nmax_iter = 3\nseed = 7\nempty = 0.1'
    made = Config.parse(WINE + f"[utility]\n{table}\n").build(Path()).arguments.utility
    task = sb.datasets.wine()
    settings = {"alpha": 0.5, "max_iter": 3, "seed": 7, "empty": 0.1}
    by_hand = sb.NetworkUtility(task.X_val, task.y_val, (4, 3), **settings)
    records = task.providers[0].source.records
    values = [one.evaluate([one.summarise(records)], [0, 1]) for one in (made, by_hand)]
    assert repr(made) == repr(by_hand)
    np.testing.assert_array_equal(*values)


def test_the_text_is_kept_as_it_was_written():
    assert Config.parse(WINE).text == WINE


@pytest.mark.parametrize("task", ["digits", "synthetic"])
def test_other_tasks_load(task):
    plan = Config.parse(WINE.replace("wine", task)).build(Path()).arguments
    assert len(plan.providers) == 10


def test_one_file_with_a_column_is_the_same_as_one_file_each(folder):
    one = played(Config.parse(ONE_FILE + LINEAR), folder)
    two = played(Config.parse(TWO_FILES + LINEAR), folder)
    assert one.names == two.names == ("north", "south")
    np.testing.assert_array_equal(one.games, two.games)


def test_names_in_a_column_stay_as_they_are_written(tmp_path):
    names = ["001", "1", "07", "1.0", "NA", "null", " x"]
    lines = [f"{name},{at},{at}" for at in range(3) for name in names]
    (tmp_path / "sites.csv").write_text("\n".join(["site,a,y", *lines]))
    source = '{ kind = "csv", path = "sites.csv", by = "site", target = "y" }'
    text = f'{FRESH}\nproviders = [{{ source = {source} }}]\nutility = {{ kind = "additive" }}'
    built = Config.parse(text.replace("n_sample = 10", "n_sample = 2")).build(tmp_path)
    assert [provider.name for provider in built.arguments.providers] == sorted(names)


def test_separators_at_the_end_of_rows_shift_no_column(tmp_path):
    (tmp_path / "x.csv").write_text("a,y\n" + "".join(f"{at},{at + 1},\n" for at in range(12)))
    source = '{ name = "a", source = { kind = "csv", path = "x.csv", target = "y" } }'
    text = f'{FRESH}\nproviders = [{source}]\nutility = {{ kind = "additive" }}'
    (provider,) = Config.parse(text).build(tmp_path).arguments.providers
    assert provider.source.records.y.tolist() == list(range(1, 13))


def test_parquet_is_the_same_as_csv(folder):
    pd.read_csv(folder / "all.csv").to_parquet(folder / "all.parquet")
    text = ONE_FILE.replace("csv", "parquet") + LINEAR
    csv, parquet = Config.parse(ONE_FILE + LINEAR), Config.parse(text)
    assert prints_of(csv.build(folder)) == prints_of(parquet.build(folder))
    np.testing.assert_array_equal(played(csv, folder).games, played(parquet, folder).games)


def test_parquet_without_pyarrow_names_the_extra(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (folder / "all.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidInput, match=r"pip install 'shapband\[files\]'"):
        Config.parse(ONE_FILE.replace("csv", "parquet") + LINEAR).build(folder)


def test_logistic_regression(folder):
    for name, separator in (("all", ","), ("validation", ";")):
        frame = pd.read_csv(folder / f"{name}.csv", sep=separator)
        frame["stay"] = np.where(frame["stay"] > 0, "long", "short")
        frame.to_csv(folder / f"{name}.csv", index=False, sep=separator)
    table = f'[utility]\nkind = "logistic"\nC = 0.5\nscore = "neg_log_loss"\n{VALIDATION}\n'
    utility = Config.parse(ONE_FILE + table).build(folder).arguments.utility
    assert repr(utility).startswith(
        "LogisticUtility(30 validation rows, 2 features, C=0.5, score='neg_log_loss'"
    )


@pytest.mark.parametrize(
    ("utility", "kind"),
    [
        ('kind = "additive"\nweights = [1, 2.5]', sb.AdditiveUtility),
        ('kind = "table"\nvalues = [0, 1, 2, 5]', sb.TableUtility),
        (f'kind = "linear"\nscore = "r2"\nalpha = 0.5\n{VALIDATION}', sb.LinearUtility),
        (f'kind = "neighbors"\nk = 2\nweights = "distance"\n{VALIDATION}', sb.NeighborUtility),
        (
            f'kind = "estimator"\nestimator = "sklearn.linear_model:Ridge"\n'
            f'options = {{ alpha = 0.5 }}\nscore = "r2"\nfailed = -1\n{VALIDATION}',
            sb.EstimatorUtility,
        ),
        ('kind = "object"\nobject = "own_utilities:worth"', sb.FunctionUtility),
        ('kind = "object"\nobject = "own_utilities:make"\noptions = { scale = 2 }',
         sb.FunctionUtility),
    ],
    ids=["additive", "table", "linear", "neighbors", "estimator", "object", "called"],
)  # fmt: skip
def test_every_utility(folder, utility, kind):
    (folder / "own_utilities.py").write_text(
        "import shapband as sb\n"
        "worth = sb.FunctionUtility(lambda X, y: float(y.mean()))\n"
        "def make(scale):\n"
        "    return sb.FunctionUtility(lambda X, y: scale * float(y.mean()))\n"
    )
    config = Config.parse(ONE_FILE + f"[utility]\n{utility}\n")
    assert isinstance(config.build(folder).arguments.utility, kind)
    assert np.isfinite(played(config, folder).expectation).all()
    sys.modules.pop("own_utilities", None)


@pytest.mark.parametrize(
    ("utility", "expected"),
    [
        ('kind = "naive_bayes"\nscore = "neg_log_loss"\nvar_smoothing = 0.1',
         lambda X, y: sb.GaussianNBUtility(X, y, "neg_log_loss", var_smoothing=0.1)),
        ('kind = "lda"\nempty = 0.25', lambda X, y: sb.LDAUtility(X, y, empty=0.25)),
    ],
    ids=["naive_bayes", "lda"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::shapband.errors.UnseenLabels")
def test_utilities_of_labels(folder, utility, expected):
    for name, separator in (("all.csv", ","), ("validation.csv", ";")):
        frame = pd.read_csv(folder / name, sep=separator)
        frame["stay"] = np.where(frame["stay"] > 0, "long", "short")
        frame.to_csv(folder / name, sep=separator, index=False)
    config = Config.parse(ONE_FILE + f"[utility]\n{utility}\n{VALIDATION}\n")
    made = config.build(folder).arguments.utility
    rows = pd.read_csv(folder / "validation.csv", sep=";")
    same = expected(rows[["age", "dose"]].to_numpy(), rows["stay"].to_numpy())
    assert repr(made) == repr(same)
    assert np.isfinite(played(config, folder).expectation).all()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('kind = "fresh"\nn_sample = 60', sb.Fresh(60)),
        ('kind = "pooled"\nn_pool = 200\nn_boot = 60', sb.Pooled(200, 60)),
        ('kind = "stratified"\nn_pool = 200\nn_boot = 60\nalpha = 0.5',
         sb.Stratified(200, 60, 0.5)),
        ('kind = "pooled"\nn_pool = 200\nn_boot = 60\nreplace = false',
         sb.Pooled(200, 60, replace=False)),
    ],
    ids=["fresh", "pooled", "stratified", "dealt"],
)  # fmt: skip
def test_every_sampling(table, expected):
    text = WINE.replace('sampling = { kind = "pooled", n_pool = 250, n_boot = 60 }', "")
    assert Config.parse(f"{text}[sampling]\n{table}").build(Path()).arguments.sampling == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('kind = "exact"', sb.Exact()),
        ('kind = "permutation"\nn_iter = 7', sb.Permutation(7)),
        ('kind = "balanced"\nn_iter = 30', sb.BalancedPermutation(30)),
    ],
    ids=["exact", "permutation", "balanced"],
)
def test_every_solver(table, expected):
    assert Config.parse(f"{WINE}[solver]\n{table}").build(Path()).arguments.solver == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("absolute = 0.1", sb.Precision(absolute=0.1)),
        ("relative = 0.1\nlevel = 0.9", sb.Precision(relative=0.1, level=0.9)),
        ("ranking = 0", sb.StableRanking(0.0)),
        (
            "absolute = 0.1\nranking = 0.2\nseconds = 60",
            sb.Precision(absolute=0.1) | sb.StableRanking(0.2) | sb.Seconds(60),
        ),
        (
            "seconds = 60\nall = { relative = 0.1, ranking = 0 }",
            sb.Seconds(60) | (sb.Precision(relative=0.1) & sb.StableRanking(0)),
        ),
    ],
    ids=["absolute", "relative", "ranking", "any", "all"],
)
def test_stopping_rules_compose(table, expected):
    assert Config.parse(f"{WINE}[stop]\n{table}").build(Path()).arguments.stop == expected


def test_the_budget_reaches_the_plan():
    plan = Config.parse(WINE + "[budget]\nrecords = 2500\nrequests = 11").build(Path()).arguments
    assert plan.budget == sb.Budget(records=2500, requests=11)


def test_an_open_seed_is_another_one_each_time():
    config = Config.parse(WINE.replace("seed = 3", ""))
    assert config.build(Path()).arguments.seeds.seed != config.build(Path()).arguments.seeds.seed


@pytest.mark.parametrize("workers", ["2", "-1"])
def test_workers_of_this_machine(workers):
    with Config.parse(f"workers = {workers}\n{WINE}").build(Path()).workers as made:
        assert made.n_jobs >= 1


@pytest.mark.parametrize(
    ("lines", "package"),
    [
        ('workers = "dask"\nscheduler = "tcp://localhost:8786"\n', "distributed"),
        ('workers = "ray"\n', "ray"),
    ],
    ids=["dask", "ray"],
)
def test_a_cluster_that_is_not_installed_names_its_extra(lines, package, monkeypatch):
    monkeypatch.setattr("shapband.app.config.config.find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=rf"workers: .*{package}.*pip install 'shapband\["):
        Config.parse(lines + WINE).build(Path())


@pytest.mark.parametrize(
    ("lines", "given"),
    [
        ('workers = "dask"\nscheduler = "tcp://localhost:8786"\n', ("tcp://localhost:8786",)),
        ('workers = "ray"\nscheduler = "10.0.0.1:6379"\n', ("10.0.0.1:6379",)),
        ('workers = "ray"\n', ()),
    ],
    ids=["dask", "ray", "ray that finds itself"],
)
def test_a_cluster_is_given_its_address(lines, given, monkeypatch):
    cluster = SimpleNamespace(
        datasets=sb.datasets, DaskWorkers=lambda *it: it, RayWorkers=lambda *it: it
    )
    monkeypatch.setattr("shapband.app.config.config.find_spec", lambda name: True)
    monkeypatch.setattr("shapband.app.config.config.shapband", cluster)
    assert Config.parse(lines + WINE).build(Path()).workers == given


def test_workers_of_a_cluster_are_those_of_the_library():
    pytest.importorskip("distributed")
    lines = 'workers = "dask"\nscheduler = "tcp://localhost:8786"\n'
    made = Config.parse(lines + WINE).build(Path()).workers
    assert repr(made) == repr(sb.DaskWorkers("tcp://localhost:8786"))


# Objects of the user's own, and their secrets.


SECRET = "correct-horse-battery"  # noqa: S105
OWN = (
    FRESH
    + """
[utility]
kind = "additive"
[[providers]]
name = "vault"
[providers.source]
kind = "object"
object = "MODULE:WHAT"
options = { keys = [{ env = "VAULT_KEY" }], size = 40 }
"""
)
MODULE = """
import numpy as np, shapband as sb
def source(keys, size):
    assert keys == ["correct-horse-battery"]
    return sb.ArraySource(np.arange(size), np.arange(size))
def talkative(keys, size):
    raise ConnectionError(f"no vault at db://user:{keys[0]}@host")
def number(keys, size):
    return 3
everyone = [sb.Provider("a", sb.ArraySource(np.arange(20.0), np.arange(20.0)))]
"""


def own_text(module, what):
    return OWN.replace("MODULE:WHAT", f"{module}:{what}")


@pytest.fixture
def own(tmp_path, request, monkeypatch):
    """Give a configuration that names something in a module next to it."""
    name = hashlib.sha1(request.node.name.encode(), usedforsecurity=False).hexdigest()
    (tmp_path / f"vault_of_{name}.py").write_text(MODULE)
    monkeypatch.setenv("VAULT_KEY", SECRET)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return lambda what: Config.parse(own_text(f"vault_of_{name}", what))


def test_a_secret_is_read_from_the_environment_and_not_kept(own, tmp_path):
    config = own("source")
    built = config.build(tmp_path)
    assert [provider.name for provider in built.arguments.providers] == ["vault"]
    assert SECRET not in config.text + repr(config) + repr(built)


def test_a_secret_that_is_not_set_is_named(own, tmp_path, monkeypatch):
    monkeypatch.delenv("VAULT_KEY")
    with pytest.raises(InvalidInput, match=r"source\.options\.keys\[0\]: .*VAULT_KEY is not set"):
        own("source").build(tmp_path)


def test_a_secret_in_the_error_of_another_library_is_hidden(own, tmp_path):
    with pytest.raises(InvalidInput, match=r"no vault at db://user:\*\*\*@host") as error:
        own("talkative").build(tmp_path)
    assert SECRET not in str(error.value)
    assert hide(f"the key {SECRET}") == "the key ***"


@pytest.mark.parametrize(
    ("what", "rule"),
    [
        ("number", "must be a source"),
        ("nothing", "has no nothing"),
        ("everyone", "takes no options"),
    ],
)
def test_an_object_that_will_not_do_is_named(own, tmp_path, what, rule):
    with pytest.raises(InvalidInput, match=rf"^providers\[0\]\.source\.object: .*{rule}"):
        own(what).build(tmp_path)


def test_a_list_of_providers_needs_no_name(own, tmp_path):
    text = own("everyone").text.replace('name = "vault"\n', "")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("options"))
    built = Config.parse(text).build(tmp_path)
    assert [provider.name for provider in built.arguments.providers] == ["a"]


def test_a_module_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("VAULT_KEY", SECRET)
    text = own_text("vault_of_nobody", "source")
    with pytest.raises(InvalidInput, match="the module vault_of_nobody cannot be imported"):
        Config.parse(text).build(tmp_path)


# Fingerprints.


def prints_of(built):
    return {one.name: fingerprint(one.source) for one in built.arguments.providers}


def test_fingerprints_follow_the_data_and_nothing_else(folder):
    built = Config.parse(ONE_FILE + LINEAR).build(folder)
    again = Config.parse(TWO_FILES + LINEAR).build(folder)
    one = prints_of(built)
    assert set(one) == {"north", "south"}
    assert one == prints_of(again)
    rebuilt = again.arguments.utility
    assert fingerprint_object(built.arguments.utility) == fingerprint_object(rebuilt)
    frame = pd.read_csv(folder / "south.csv")
    frame.loc[3, "age"] = np.nextafter(frame.loc[3, "age"], np.inf)
    frame.to_csv(folder / "south.csv", index=False)
    other = prints_of(Config.parse(TWO_FILES + LINEAR).build(folder))
    assert [name for name in one if one[name] != other[name]] == ["south"]


def test_changed_validation_data_is_named_when_a_run_goes_on(folder):
    class Interrupted(Exception):
        pass

    def interrupt(standing):
        raise Interrupted

    with pytest.raises(Interrupted):
        start(Config.parse(TWO_FILES + LINEAR), folder, folder / "run", interrupt)
    rows = (folder / "validation.csv").read_text()
    (folder / "validation.csv").write_text("\n".join(rows.splitlines()[:-1]))
    with pytest.raises(RunError, match=r"^the settings or validation rows of the utility"):
        resume(folder / "run", ignore)
    (folder / "validation.csv").write_text(rows)
    assert resume(folder / "run", ignore).n_games == 20


@pytest.mark.parametrize("change", ["target", "name", "order", "label"])
def test_fingerprints_see_every_change(change):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None], "y": [0, 1]})
    other = {
        "target": frame.assign(y=[1, 0]),
        "name": frame.rename(columns={"a": "c"}),
        "order": frame[["b", "a", "y"]],
        "label": frame.assign(b=["z", None]),
    }[change]
    prints = {fingerprint(sb.FrameSource(one, "y")) for one in (frame, frame.copy(), other)}
    assert len(prints) == 2


def test_a_source_that_is_not_in_memory_is_described():
    prints = prints_of(Config.parse(WINE.replace("wine", "synthetic")).build(Path()))
    assert set(prints.values()) == {"FunctionSource, not in memory"}


def test_only_the_classes_that_a_file_names_are_imported():
    code = (
        "import sys; from pathlib import Path; from shapband.app.config.config import Config\n"
        f"Config.parse({WINE!r}).build(Path())\n"
        "print(*(name for name in sys.modules if name.startswith('shapband.')))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found = done.stdout.split()
    assert "shapband.utilities.linear" in found
    for other in (
        "shapband.market",
        "shapband.utilities.bayes",
        "shapband.utilities.discriminant",
    ):
        assert other not in found


def test_the_configuration_sets_how_requests_are_repeated(folder):
    text = ONE_FILE.replace("providers = [{ ", "providers = [{ retry = { attempts = 3 }, ")
    text += f'utility = {{ kind = "linear", {VALIDATION} }}'
    providers = Config.parse(text).build(folder).arguments.providers
    assert [provider.retry for provider in providers] == [sb.Retry(attempts=3)] * 2
    for table, words in {
        "{ attempts = 0 }": r"providers\[0\]\.retry\.attempts",
        "{ wait = 90 }": r"providers\[0\]\.retry\.wait: must be at most longest_wait, 60",
        "{ tries = 2 }": r"providers\[0\]\.retry\.tries",
    }.items():
        with pytest.raises(InvalidInput, match=words):
            Config.parse(text.replace("{ attempts = 3 }", table))
