"""What was valued, in words: the model, its score, and the values of nobody and of everybody.

Printed results, reports and pictures take their words from here. Results of earlier versions
name neither the model nor the score; the class of the utility stands in for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from shapband.estimate.joint import total_half_width
from shapband.indices import SHAPLEY

if TYPE_CHECKING:
    from shapband.sampling.design import Design
    from shapband.valuation.valuation import Valuation

_WRITTEN = 1e-5  # v(∅) is stored with six digits, so sums with it are known to this share of it
_NUMBER = re.compile(r"= (\S+)")


class Whole(NamedTuple):
    """What is divided among the providers: the gain from nobody to everybody.

    Attributes
    ----------
    nobody : v(∅)
    everybody : v(N), or with participation the mean value of those who take part
    gain : their difference, the sum of all expectations
    half_width : of the 95 % interval of the gain; NaN if it is not known
    """

    nobody: float
    everybody: float
    gain: float
    half_width: float

    @property
    def digits(self) -> float:
        """The error that decides how many digits of `nobody` and `everybody` are shown."""
        error = self.half_width if math.isfinite(self.half_width) else 0.0
        return max(error, _WRITTEN * max(abs(self.nobody), abs(self.everybody)))


def valued(design: Design, *, with_rows: bool = True) -> str:
    """Name the model, its score and the number of validation rows.

    Rows may be held out of all stocks, so the report of one owner leaves out their number.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> setup = {"model": "logistic regression", "score": "ROC AUC"}
    >>> valued(sb.Design(names=("north",), seed=0, draw_sizes=np.array([9]), estimand="draws",
    ...                  setup=setup))
    'logistic regression, scored by ROC AUC'
    """
    setup = design.setup
    rows = design.validation.rows if design.validation is not None and with_rows else 0
    on = f" on {rows:,} validation row{'s' * (rows != 1)}" if rows else ""
    if "model" not in setup:
        return f"{setup.get('utility', 'a utility without a name')}{on}"
    score = f", scored by {setup['score']}" if "score" in setup else ""
    return f"{setup['model']}{score}{on}"


def method_of_value(setup: Mapping[str, str]) -> str:
    """Name the model and its score, with the class of the utility; empty if nothing is known.

    Examples
    --------
    >>> method_of_value({"utility": "LogisticUtility", "model": "logistic regression",
    ...                  "score": "accuracy"})
    'logistic regression scored by accuracy (LogisticUtility)'
    """
    utility = setup.get("utility", "")
    if "model" not in setup:
        return utility
    score = f" scored by {setup['score']}" if "score" in setup else ""
    return f"{setup['model']}{score} ({utility})"


def the_score(setup: Mapping[str, str]) -> str:
    """Name what values are parts of: the score, or the value of a coalition.

    Examples
    --------
    >>> the_score({"score": "accuracy"}), the_score({"score": "1 / (1 + MSE)"}), the_score({})
    ('the accuracy', '1 / (1 + MSE)', 'the value of a coalition')
    """
    score = setup.get("score", "the value of a coalition")
    return score if score.startswith(("the ", "a ")) or score[:1].isdigit() else f"the {score}"


def whole_of(valuation: Valuation) -> Whole | None:
    """Return the values of nobody and of everybody; None if they do not follow from the values.

    Values of other indices than Shapley's do not add up to the gain.
    """
    found = _NUMBER.search(valuation.setup.get("empty", ""))
    if found is None or valuation.index != repr(SHAPLEY):
        return None
    try:
        nobody = float(found[1])
    except ValueError:
        return None
    gain = float(valuation.expectation.sum())
    half = math.nan
    if valuation.n_games > 1 or valuation.design.certain:
        half = total_half_width(valuation.estimate, 0.95, valuation.games)
    return Whole(nobody, nobody + gain, gain, half)


def loss_caveat(setup: Mapping[str, str], total: float, half_width: float) -> list[tuple[str, ...]]:
    """Say that the model of all providers is worse than v(∅), if that is beyond chance.

    Examples
    --------
    >>> loss_caveat({"model": "ridge regression"}, -0.3, 0.1)[0][0]
    'all providers together score 0.3 below v(∅), so that values are shares of a loss:'
    """
    if "model" not in setup or not total < -half_width:
        return []
    remedy = "draws may be too small for the model"
    if "federated" in setup["model"]:
        remedy = "training may diverge (pass a smaller learning_rate), or labels may be wrong"
    below = f"all providers together score {-total:.3g} below v(∅)"
    return [(f"{below}, so that values are shares of a loss:", remedy)]
