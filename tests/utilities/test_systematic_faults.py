"""Faults in the records of a provider are named; a value for failures does not hide them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput, LoneLabels, SourceError

# Models are scored on the records of a provider, which these tests do not depend on.
pytestmark = pytest.mark.filterwarnings("ignore::shapband.errors.HeldRows")
OPTIONS = {"sampling": sb.Fresh(12), "n_games": 4, "seed": 0}


def frames(count=3, size=60):
    """Frames of patients: two columns of numbers, one of strings, and the outcome 0 or 1."""
    rng = np.random.default_rng(2)
    for _ in range(count):
        frame = pd.DataFrame(rng.normal(size=(size, 2)), columns=["age", "dose"])
        frame["ward"] = rng.choice(["a", "b"], size)
        frame["ill"] = (frame["age"] + rng.normal(size=size) > 0).astype(int)
        yield frame


def encoded(model):
    wards = ("ward", OneHotEncoder(handle_unknown="ignore"), ["ward"])
    return make_pipeline(ColumnTransformer([wards], remainder="passthrough"), model)


def task(change=None, model=None, drop=(), library=None, **settings):
    """Three providers, the last of whose frames is changed, and a utility."""
    *held, validation = (frame.drop(columns=list(drop)) for frame in frames(4))
    if change is not None:
        held[-1] = held[-1].assign(**change(held[-1]))
    if library is not None:
        held, validation = [library(frame) for frame in held], library(validation)
    pairs = zip(("north", "south", "east"), held, strict=True)
    providers = [sb.Provider(name, sb.FrameSource(frame, "ill")) for name, frame in pairs]
    X, y = validation[[c for c in validation.columns if c != "ill"]], validation["ill"]
    utility = sb.EstimatorUtility(model or LogisticRegression(), X, y, **settings)
    return providers, utility


class Distant(sb.GenerativeSource):
    """Records that are not in memory."""

    def __init__(self, records):
        self._records = records

    def draw(self, size, rng):
        return self._records.take(rng.integers(len(self._records), size=size))


def words(frame):
    return {"ill": frame["ill"].map({0: "no", 1: "yes"})}


@pytest.mark.parametrize("library", [None, pl.from_pandas])
def test_labels_of_another_kind_are_refused_before_anything_is_asked(library):
    providers, utility = task(words, drop=["ward"], library=library, failed=0.5)
    told = "provider 'east': the targets hold strings such as '.*', but .* numbers such as"
    with pytest.raises(InvalidInput, match=told) as caught:
        sb.value(providers, utility, **OPTIONS)
    assert "failed=" not in str(caught.value)


def test_labels_of_another_kind_from_afar_are_refused_with_the_first_answers():
    providers, utility = task(words, drop=["ward"], failed=0.5)
    providers[2] = sb.Provider("east", Distant(providers[2].source.records))
    with pytest.raises(SourceError, match="provider 'east': the targets hold strings"):
        sb.value(providers, utility, **OPTIONS)


def test_a_column_of_another_kind_is_named_with_its_provider():
    providers, utility = task(
        lambda frame: {"age": frame["age"].astype(str)}, drop=["ward"], failed=0.5
    )
    told = "provider 'east': column 'age' holds strings such as '.* numbers such as"
    with pytest.raises(InvalidInput, match=told):
        sb.value(providers, utility, **OPTIONS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: {"age": pd.Timestamp("2026-01-01")}, "column 'age' holds dates"),
        (lambda frame: {"age": [*frame["age"][:-1], "unknown"]}, "'age' holds strings and numbers"),
    ],
    ids=["dates", "mixed"],
)
def test_dates_and_mixed_columns_are_refused_when_the_source_is_made(change, told):
    with pytest.raises(InvalidInput, match=told):
        task(change, drop=["ward"], failed=0.5)


def test_columns_of_the_same_kind_and_missing_values_are_in_order():
    def change(frame):
        return {"age": (100 * frame["age"]).astype(int), "ward": None, "dose": frame["dose"] > 0}

    providers, utility = task(change, encoded(DecisionTreeClassifier(random_state=0)))
    sb.value(providers, utility, **OPTIONS)


@pytest.mark.parametrize("failed", [None, 0.5])
def test_a_column_of_two_kinds_is_named_even_if_the_model_may_convert_it(failed):
    model = make_pipeline(FunctionTransformer(pd.DataFrame.astype, kw_args={"dtype": float}))
    model.steps.append(("tree", DecisionTreeClassifier(random_state=0)))
    providers, utility = task(
        lambda frame: {"age": frame["age"].astype(str)}, model, drop=["ward"], failed=failed
    )
    with pytest.raises(EvaluationError, match=r"column 'age' holds numbers .* strings") as caught:
        sb.value(providers, utility, **OPTIONS)
    assert "failed=" not in str(caught.value)


@pytest.mark.parametrize("failed", [None, 0.5])
def test_columns_that_the_model_cannot_take_are_named(failed):
    providers, utility = task(failed=failed)
    with pytest.raises(EvaluationError, match="column 'ward' holds strings such as") as caught:
        sb.value(providers, utility, **OPTIONS)
    assert "failed=" not in str(caught.value)


def test_columns_from_afar_that_the_model_cannot_take_are_named():
    providers, utility = task(failed=0.5)
    distant = [sb.Provider(one.name, Distant(one.source.records)) for one in providers]
    with pytest.raises(EvaluationError, match="column 'ward' holds strings such as"):
        sb.value(distant, utility, **OPTIONS | {"n_games": 20})


def test_a_column_of_another_type_of_the_same_kind_is_named_if_the_model_needs_it():
    providers, _ = task(lambda frame: {"ward": frame["ward"].astype("object")})
    typed = [
        one
        if one.name == "east"
        else sb.Provider(
            one.name,
            sb.FrameSource(
                one.source.records.X.assign(
                    ward=lambda X: X["ward"].astype("category"), ill=one.source.records.y
                ),
                "ill",
            ),
        )
        for one in providers
    ]
    rows = typed[0].source.records
    model = HistGradientBoostingClassifier(max_iter=1, random_state=0)
    utility = sb.EstimatorUtility(model, rows.X, rows.y, failed=0.5)
    told = "without provider 'east' they can: its column 'ward' has the type .*category in X_val"
    with pytest.raises(EvaluationError, match=told):
        sb.value(typed, utility, **OPTIONS)


def test_failures_by_the_chance_of_a_draw_still_name_the_remedy_and_get_their_value():
    providers, _ = task(drop=["ward"])
    rows = providers[0].source.records
    small = {"sampling": sb.Fresh(2), "n_games": 6, "seed": 0}
    with pytest.raises(
        EvaluationError, match="pass failed= to EstimatorUtility, to give such coalitions a value"
    ):
        sb.value(providers, sb.EstimatorUtility(LogisticRegression(), rows.X, rows.y), **small)
    patient = sb.EstimatorUtility(LogisticRegression(), rows.X, rows.y, failed=0.5)
    assert 0 < sb.value(providers, patient, **small).failures < 42


UTILITIES = [
    lambda X, y: sb.EstimatorUtility(LogisticRegression(), X, y, failed=0.5),
    sb.LogisticUtility,
]


@pytest.mark.parametrize("make", UTILITIES, ids=["estimator", "compiled"])
def test_a_provider_whose_labels_nobody_else_has_is_warned_about(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.array(["no", "yes"])[rng.integers(2, size=60)]
    shouted = np.char.upper(y)
    held = {"north": y, "south": y, "east": shouted}
    providers = [sb.Provider(name, sb.ArraySource(X, own)) for name, own in held.items()]
    with pytest.warns(LoneLabels, match="provider 'east'.*has any of its labels, such as 'NO'"):
        sb.value(providers, make(X, y), **OPTIONS)


@pytest.mark.parametrize("make", UTILITIES, ids=["estimator", "compiled"])
def test_a_rare_class_that_one_provider_alone_has_is_in_order(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.array(["no", "yes"])[rng.integers(2, size=60)]
    rare = np.where(np.arange(60) < 20, "rare", y)
    held = {"north": y, "south": y, "east": rare}
    providers = [sb.Provider(name, sb.ArraySource(X, own)) for name, own in held.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LoneLabels)
        sb.value(providers, make(X, y), **OPTIONS)
