"""Validation rows that providers hold, and ties that only providers' records have."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import shapband as sb

RNG = np.random.default_rng(7)


def records(size, labels=2):
    table = pd.DataFrame(RNG.normal(size=(size, 3)), columns=list("abc"))
    return table.assign(y=RNG.integers(0, labels, size))


NORTH, SOUTH, OTHERS = records(300), records(200), records(100)


def value(providers, validation, model=None, **options):
    model = model or KNeighborsClassifier(1)
    return sb.value(
        providers, model, target="y", validation=validation, seed=0, n_games=4, **options
    )


@pytest.mark.parametrize(
    ("validation", "holders"),
    [
        (NORTH[:80], ["north"]),
        (pd.concat([NORTH, SOUTH]), ["north", "south"]),
        (pd.concat([OTHERS[:40], SOUTH[:60]]), ["south"]),
    ],
    ids=["a part of one", "everybody", "mixed"],
)
def test_validation_rows_that_a_provider_holds_are_named(validation, holders):
    with pytest.warns(sb.errors.HeldRows) as warned:
        value({"north": NORTH, "south": SOUTH}, validation)
    said = [str(one.message) for one in warned if one.category is sb.errors.HeldRows]
    named = [text.partition("equal records of provider ")[2].split(",")[0] for text in said]
    assert sorted(named) == [f"'{name}'" for name in holders]


@pytest.mark.parametrize("validation", [OTHERS, 0.3], ids=["others", "held out"])
def test_rows_that_nobody_holds_give_no_warning(validation):
    value({"north": NORTH, "south": SOUTH}, validation)  # warnings are errors


def test_equal_rows_of_few_possible_values_give_no_warning():
    def few(size):
        table = pd.DataFrame(RNG.integers(0, 2, (size, 3)).astype(float), columns=list("abc"))
        return table.assign(y=RNG.integers(0, 2, size))

    with pytest.warns() as warned:
        value({"north": few(200), "south": few(200)}, few(100), LogisticRegression())
    assert {one.category for one in warned} == {sb.errors.RepeatedRecords}


def test_ties_among_records_are_solved_as_the_model_does():
    def tied(size):
        X = RNG.integers(0, 2, (size, 3)).astype(float)
        return pd.DataFrame(X, columns=list("abc")).assign(y=X.sum(axis=1) + RNG.normal(size=size))

    providers, rows = {"north": tied(120), "south": tied(120)}, tied(80)
    rows[list("abc")] += RNG.normal(scale=1e-3, size=(80, 3))  # no two rows are at equal distance
    model = KNeighborsRegressor(5)
    found = value(providers, rows, model)
    plain = value(providers, rows, model, score=lambda fitted, X, y: fitted.score(X, y))
    np.testing.assert_allclose(found.games, plain.games, rtol=1e-12)
    assert "at equal distance" in found.setup["utility_chosen"]
    free = {name: table.assign(a=RNG.normal(size=120)) for name, table in providers.items()}
    assert value(free, rows, model).setup["utility"] == "NeighborUtility"


@pytest.mark.parametrize("score", ["roc_auc", "f1"])
def test_a_score_that_three_labels_do_not_have_is_named(score):
    three = {"north": records(90, 3), "south": records(90, 3)}
    with pytest.raises(sb.errors.InvalidInput, match=rf"score='{score}' .* with 3 labels"):
        value(three, records(60, 3), LogisticRegression(), score=score)
