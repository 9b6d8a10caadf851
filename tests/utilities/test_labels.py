"""What all utilities of classifiers do with labels."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import shapband as sb
from shapband.errors import InvalidInput
from shapband.records.batch import Batch
from shapband.utilities.labels import label_codes

X = np.array([[0.0], [1.0], [2.0], [3.0]])
NUMBERS = np.array([0, 0, 1, 1])
TEXTS = np.array(["0", "0", "1", "1"])


def neighbors(X_val, y_val):
    return sb.NeighborUtility(X_val, y_val, task="classification")


def network(X_val, y_val):
    return sb.NetworkUtility(X_val, y_val, hidden=(2,), max_iter=5)


CLASSIFIERS = pytest.mark.parametrize(
    "make", [sb.LogisticUtility, sb.GaussianNBUtility, sb.LDAUtility, neighbors, network]
)


@CLASSIFIERS
def test_texts_are_not_numbers(make):
    with pytest.raises(InvalidInput, match="are strings, but the labels in y_val are numbers"):
        make(X, NUMBERS).summarise(Batch(X, TEXTS))
    with pytest.raises(InvalidInput, match="are numbers, but the labels in y_val are strings"):
        make(X, TEXTS).summarise(Batch(X, NUMBERS))


@CLASSIFIERS
def test_labels_are_no_quantities(make):
    with pytest.raises(InvalidInput, match=r"y_val must be integers or strings; received 0\.5"):
        make(X, NUMBERS + 0.5)
    with pytest.raises(InvalidInput, match=r"labels must be integers or strings; received 0\.5"):
        make(X, NUMBERS).summarise(Batch(X, NUMBERS + 0.5))


@CLASSIFIERS
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint64, np.bool_, np.float32, object])
def test_the_type_of_numbers_does_not_matter(make, kind):
    plain, other = (make(X, NUMBERS.astype(one)) for one in (np.float64, kind))
    batches = [Batch(X[1:3], NUMBERS[1:3].astype(one)) for one in (np.float64, np.bool_, np.int8)]
    values = [u.evaluate([u.summarise(batch)], [1])[0] for u in (plain, other) for batch in batches]
    assert len(set(values)) == 1


@CLASSIFIERS
@pytest.mark.parametrize("first", [2**53 + 1, 2**63, 2**80, -(2**60)])
def test_integers_that_floats_cannot_tell_apart_are_refused(make, first):
    """They would become one label, which every model predicts."""
    labels = np.array([first + int(number) for number in NUMBERS])
    with pytest.raises(InvalidInput, match=r"y_val holds integers beyond 2\*\*53.* as strings"):
        make(X, labels)
    with pytest.raises(InvalidInput, match=r"ArraySource: y holds integers beyond 2\*\*53"):
        sb.ArraySource(X, labels)
    texts = labels.astype(str)
    assert make(X, texts).evaluate([make(X, texts).summarise(Batch(X[:1], texts[:1]))], [1]) == 0.5


@CLASSIFIERS
def test_sparse_features_are_refused_with_the_remedy(make):
    with pytest.raises(InvalidInput, match=r"X_val must not be sparse: pass its toarray\(\)"):
        make(csr_matrix(X), NUMBERS)
    with pytest.raises(InvalidInput, match=r"ArraySource: X must not be sparse"):
        sb.ArraySource(csr_matrix(X), NUMBERS)


@CLASSIFIERS
def test_zero_with_either_sign_is_one_label(make):
    """Also where it does not occur in the validation rows."""
    plain = make(X, NUMBERS)
    signed = make(X, np.where(NUMBERS == 0, -0.0, 1.0))
    batches = [Batch(X, np.array([zero, zero, 1.0, 1.0])) for zero in (0.0, -0.0)]
    mixed = Batch(X, np.array([0.0, -0.0, 1.0, 1.0]))
    values = [
        utility.evaluate([utility.summarise(batch)], [1])[0]
        for utility in (plain, signed)
        for batch in (*batches, mixed)
    ]
    assert len(set(values)) == 1


def test_zero_with_either_sign_is_one_label_that_validation_rows_lack():
    """Providers that know nothing of each other give it one code."""
    codes = [label_codes(np.array([zero]), np.array([1.0, 2.0]))[0] for zero in (0.0, -0.0)]
    assert codes[0] == codes[1]
