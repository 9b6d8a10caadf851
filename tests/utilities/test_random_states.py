"""Models whose `random_state` is not set: the seed of the valuation sets it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from tests.conftest import plain_id

import shapband as sb
from shapband.engine.workers.local import ThreadWorkers
from shapband.errors import ConformanceError, InvalidInput
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.utilities.randomness import unset_states, with_states

COLUMNS = [f"x{j}" for j in range(6)]


def records(rng, size=60):
    X = rng.normal(size=(size, len(COLUMNS)))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=size) > 0, "ill", "well")
    return pd.DataFrame(X, columns=COLUMNS), y


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(8)
    providers = []
    for name in ("west", "north", "east"):
        X, y = records(rng)
        providers.append(sb.Provider(name, sb.FrameSource(X.assign(y=y), "y")))
    return providers, records(rng, 80)


def random_tree(**settings):
    """A tree whose splits are random, and that is fitted in a millisecond."""
    return DecisionTreeClassifier(splitter="random", max_features=1, **settings)


class Guesser(ClassifierMixin, BaseEstimator):
    """An estimator of the user's own that uses its random state as scikit-learn does."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        generator = np.random.RandomState(self.random_state)
        self.weights_ = generator.normal(size=X.shape[1])
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X) @ self.weights_ > 0).astype(int)]


def value(task, model, **options):
    providers, rows = task
    utility = sb.EstimatorUtility(model, *rows, failed=0.25)
    options = {"sampling": sb.Fresh(20), "n_games": 4, "seed": 3, **options}
    return sb.value(providers, utility, **options)


MODELS = [
    RandomForestClassifier(3),
    make_pipeline("passthrough", random_tree()),
    VotingClassifier([("a", RandomForestClassifier(2)), ("b", random_tree())]),
    make_pipeline(PCA(2, svd_solver="randomized"), KNeighborsClassifier(3)),
    MLPClassifier((3,), solver="lbfgs", max_iter=3),
    make_pipeline(
        ColumnTransformer([("few", PCA(2, svd_solver="randomized"), COLUMNS)]), random_tree()
    ),
    GridSearchCV(random_tree(), {"max_depth": [1, 2]}, cv=KFold(2, shuffle=True)),
    GridSearchCV(
        make_pipeline(random_tree()), {"decisiontreeclassifier": [random_tree(), Guesser()]}, cv=2
    ),
    GridSearchCV(LogisticRegression(), {"solver": ["saga"], "max_iter": [2]}, cv=2),
    RandomizedSearchCV(random_tree(), {"max_depth": [1, 2, 3]}, n_iter=2, cv=2),
    CalibratedClassifierCV(random_tree(), cv=2),
    LogisticRegression(solver="saga", max_iter=2),
    Guesser(),
]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_valuation_of_a_random_model_is_the_same_twice_and_says_why(task, model):
    first, second = value(task, model, n_games=2), value(task, model, n_games=2, chunk_size=2)
    np.testing.assert_array_equal(first.games, second.games)
    assert "\ntraining: random_state of " in str(first)
    assert "the variance includes the randomness of training" in " ".join(str(first).split())


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(),
        LogisticRegression(),
        make_pipeline("passthrough", PCA(2, svd_solver="full"), LogisticRegression()),
        RandomForestClassifier(random_state=0),
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}, cv=KFold(2)),
    ],
    ids=plain_id,
)
def test_a_model_without_unset_randomness_is_left_as_it_is(task, model):
    _, rows = task
    utility = sb.EstimatorUtility(model, *rows)
    assert utility.training == ""
    games = [["summaries"]]
    assert utility.in_games(games, ["a"], range(1), Seeds(0)) is games


def test_another_seed_gives_other_models_with_the_same_records():
    model = random_tree()
    states = [with_states(model, Seeds(s), g).random_state for s in range(3) for g in range(3)]
    assert len(set(states)) == len(states)
    assert all(0 <= state < 2**31 for state in states)
    assert model.random_state is None


def test_each_model_inside_another_has_a_random_state_of_its_own():
    forests = [("a", RandomForestClassifier(2)), ("b", RandomForestClassifier(2))]
    model = VotingClassifier(forests)
    own = with_states(model, Seeds(0), 0).get_params()
    assert own["a__random_state"] != own["b__random_state"]
    assert unset_states(model) == ("RandomForestClassifier",)
    split = GridSearchCV(random_tree(random_state=1), {}, cv=KFold(2, shuffle=True))
    assert unset_states(split) == ("KFold",)
    assert isinstance(with_states(split, Seeds(0), 0).cv.random_state, int)
    assert split.cv.random_state is None


def table(providers, utility, game=5):
    """Values of all coalitions of one game, by the names of the members."""
    names = tuple(one.name for one in providers)
    summaries = [[one.source.records for one in providers]]
    found = Games(utility, summaries, names, range(game, game + 1), Seeds(1)).table()[0]
    members = [[n for i, n in enumerate(names) if mask >> i & 1] for mask in range(len(found))]
    return {frozenset(inside): worth for inside, worth in zip(members, found, strict=True)}


def test_coalitions_of_random_models_do_not_depend_on_the_order_of_providers(task):
    providers, rows = task
    utility = sb.EstimatorUtility(RandomForestClassifier(3), *rows)
    assert table(providers, utility) == table(providers[::-1], utility)
    assert table(providers, utility) != table(providers, utility, game=6)


def test_a_coalition_of_a_random_model_does_not_depend_on_the_others_that_are_evaluated(task):
    providers, rows = task
    utility = sb.EstimatorUtility(random_tree(), *rows)
    names = tuple(one.name for one in providers)
    games = Games(utility, [[p.source.records for p in providers]], names, range(5, 6), Seeds(1))
    alone = [float(games.some([mask])[0][0, 0]) for mask in range(1, 8)]
    assert alone == games.table()[0, 1:].tolist()


def test_workers_give_the_values_of_random_models_that_one_process_gives(task):
    one = value(task, random_tree(), n_games=12)
    with ThreadWorkers(2) as threads:
        other = value(task, random_tree(), n_games=12, workers=threads)
    np.testing.assert_array_equal(one.games, other.games)
    np.testing.assert_array_equal(one.games, value(task, random_tree(), n_games=12, n_jobs=2).games)


def test_an_interrupted_run_of_a_random_model_ends_with_the_same_values(
    task, tmp_path, monkeypatch
):
    whole = value(task, random_tree())
    fit, calls = sb.EstimatorUtility._fit_and_score, []

    def interrupted(self, batch, rows):
        calls.append(1)
        if len(calls) > 17:  # in the third game
            raise KeyboardInterrupt
        return fit(self, batch, rows)

    monkeypatch.setattr(sb.EstimatorUtility, "_fit_and_score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        value(task, random_tree(), run=tmp_path / "run")
    monkeypatch.undo()
    resumed = value(task, random_tree(), run=tmp_path / "run")
    np.testing.assert_array_equal(whole.games, resumed.games)
    assert "\ntraining: random_state of DecisionTreeClassifier" in str(
        sb.load(tmp_path / "run").valuation
    )


def test_training_is_part_of_the_variance_unless_the_random_state_is_set(task):
    """All games have the same records, so only training can differ; an integer leaves nothing."""
    whole = {"sampling": sb.Fresh(60), "n_games": 6}
    assert (value(task, random_tree(), **whole).games.std(axis=0) > 0.01).all()
    assert (value(task, random_tree(random_state=1), **whole).games.std(axis=0) < 1e-12).all()


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (np.random.RandomState(0), "RandomState"),
        (np.random.default_rng(0), "Generator"),
        (np.random, "numpy.random"),
    ],
)
def test_a_generator_as_random_state_is_refused_and_named(task, state, name):
    _, rows = task
    with pytest.raises(InvalidInput) as refused:
        sb.EstimatorUtility(make_pipeline(random_tree(random_state=state)), *rows)
    assert str(refused.value) == (
        "EstimatorUtility: random_state of DecisionTreeClassifier must be an integer or None; "
        f"received {name}, which changes with every use, so that values could not be repeated: "
        "pass an integer, or None to have it set from the seed of the valuation"
    )
    sb.EstimatorUtility(Ridge(random_state=state), rows[0], np.arange(80.0))  # does not use it


@pytest.mark.parametrize("state", [None, np.random.RandomState(0)], ids=plain_id)
def test_a_search_cannot_try_a_random_state_that_is_no_integer(task, state):
    _, rows = task

    def search(tried):
        candidates = [{"decisiontreeclassifier__random_state": tried}, {"passthrough": [None]}]
        return GridSearchCV(make_pipeline("passthrough", random_tree()), candidates)

    sb.EstimatorUtility(make_pipeline(search([0, 1])), *rows)
    with pytest.raises(InvalidInput, match="random_state among the candidates of a search must"):
        sb.EstimatorUtility(make_pipeline(search([0, state])), *rows)


def test_a_random_function_breaks_a_rule_of_utilities():
    utility = sb.FunctionUtility(lambda X, y: float(np.random.default_rng().normal()))
    with pytest.raises(ConformanceError, match="same value twice: seed what is random"):
        sb.testing.check_utility(utility)
    X = np.random.default_rng(0).normal(size=(40, 2))
    sb.testing.check_utility(
        sb.EstimatorUtility(RandomForestClassifier(2), X, (X[:, 0] > 0).astype(int)),
        [(X[i::3], (X[i::3, 0] > 0).astype(int)) for i in range(3)],
    )
