"""Details of utilities that a wrong constant or a missing copy would change."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import shapband as sb


@pytest.mark.parametrize("apart", [1e-1, 1e-2, 1e-3, 5e-4, 1e-5, 1e-6])
def test_lda_drops_nearly_dependent_features_where_scikit_learn_does(apart):
    """The standardised rows have a singular value near `apart`; the limit is 1e-4.

    The classes differ in the small direction only, so the accuracy says whether it was dropped.
    """
    rng = np.random.default_rng(3)

    def rows(n):
        labels = np.arange(n) % 2
        common = rng.normal(size=n)
        small = rng.normal(size=n) + 3.0 * labels
        return np.stack([common, common + apart * small], axis=1), labels.astype(float)

    (X, y), (X_val, y_val) = rows(200), rows(400)
    utility = sb.LDAUtility(X_val, y_val)
    found = utility.evaluate([utility.summarise(sb.Batch(X, y))], [0b1])[0]
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert found == pytest.approx(model.score(X_val, y_val), abs=1e-12)
    assert (found > 0.85) == (apart > 1e-4)


class _ChangesItsInput:
    """A transformer that doubles the rows it is given, in place."""

    def transform(self, X):
        X *= 2.0
        return X


@pytest.mark.parametrize("kind", [sb.LinearUtility, sb.LogisticUtility])
def test_a_transformer_that_changes_its_input_does_not_change_the_records(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), (rng.normal(size=40) > 0).astype(float)
    before = X.copy()
    utility = kind(X, y, embed=_ChangesItsInput())
    plain = kind(2.0 * X, y)
    batch = sb.Batch(X, y)
    values = [utility.evaluate([utility.summarise(batch)], [0b1])[0] for _ in range(3)]
    np.testing.assert_array_equal(X, before)
    expected = plain.evaluate([plain.summarise(sb.Batch(2.0 * X, y))], [0b1])[0]
    assert values == pytest.approx([expected] * 3, abs=1e-9)
