"""Labels that pools and draws may lack, their probabilities, and where they are reported."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, make_scorer

import shapband as sb
from shapband.errors import UnseenLabels
from shapband.records.batch import Batch
from shapband.report.page import page_of
from shapband.sampling.rare import (
    LabelCounts,
    RareLabel,
    format_rare,
    missed_without_replacement,
    rare_labels,
    unseen_labels,
)
from shapband.seeds import Seeds

RNG = np.random.default_rng(0)
Y_VAL = np.repeat([0, 1], 40)
X_VAL = RNG.normal(size=(80, 2)) + Y_VAL[:, None]


def records(size, rare):
    y = (np.arange(size) < rare).astype(int)
    return RNG.normal(size=(size, 2)) + y[:, None], y


def provider(name, size, rare):
    return sb.Provider(name, sb.ArraySource(*records(size, rare)))


def hidden(name, share):
    """A source whose records are not known."""

    def draw(size, rng):
        y = (rng.random(size) < share).astype(int)
        return rng.normal(size=(size, 2)) + y[:, None], y

    return sb.Provider(name, sb.FunctionSource(draw))


def utility(score="accuracy"):
    return sb.LogisticUtility(X_VAL, Y_VAL, score=score)


def valued(providers, sampling, n_games=10, score="accuracy", **options):
    return sb.value(
        providers, utility(score), sampling=sampling, n_games=n_games, seed=0, **options
    )


def test_the_probability_is_hypergeometric():
    rng = np.random.default_rng(1)
    for _ in range(300):
        stock = int(rng.integers(1, 10 ** rng.integers(1, 6)))
        count, size = rng.integers(0, stock + 1, 2).tolist()
        if rng.random() < 0.7:
            count = min(count, 12)
        wanted = hypergeom.pmf(0, stock, count, size)
        assert missed_without_replacement(stock, count, size) == pytest.approx(wanted, abs=1e-10)


def test_unknown_stocks_use_the_shares_of_the_pool():
    endless = LabelCounts("a", {0: 190, 1: 10}, 200, math.inf, whole=False)
    assert endless.missed(1, 40) == pytest.approx(0.95**40)
    finite = LabelCounts("a", {0: 190, 1: 10}, 200, 1000, whole=False)
    assert finite.missed(1, 40) == pytest.approx(hypergeom.pmf(0, 1000, 50, 40))
    assert math.isnan(endless.missed(2, 40))
    assert LabelCounts("a", {0: 200}, 200, 200, whole=True).missed(2, 40) == 1.0


def test_pools_lack_a_label_as_often_as_reported():
    providers = [provider("north", 400, 4), provider("south", 400, 200)]
    (rare,) = valued(providers, sb.Pooled(200, 5), n_games=2).rare_labels
    assert rare[:5] == ("north", "1", 4, 400, 200)
    lack = 0
    for seed in range(1000):
        access = sb.Access(providers[:1], Seeds(seed), sb.Budget())
        (pool,) = sb.Pooled(200, 5).prepare(access).pools
        lack += not pool.y.any()
    error = math.sqrt(rare.probability * (1 - rare.probability) / 1000)
    assert abs(lack / 1000 - rare.probability) < 3 * error
    assert abs(lack / 1000 - 0.99**200) > 3 * error  # a pool drawn with replacement
    assert rare.probability == pytest.approx(hypergeom.pmf(0, 400, 4, 200))


def test_only_labels_that_a_provider_has_and_may_miss_are_named():
    known = [
        LabelCounts("a", {0: 995, 1: 5}, 1000, 1000, whole=True),
        LabelCounts("b", {0: 1000}, 1000, 1000, whole=True),
        LabelCounts("c", {0: 100}, 100, math.inf, whole=False),
        LabelCounts("d", {0: 500, 1: 500}, 1000, 1000, whole=True),
        LabelCounts("e", {0: 999, 1: 1}, 1000, 1000, whole=True),
    ]
    found = rare_labels(known, [0, 1], [200, 200, 100, 200, 200])
    assert [one.name for one in found] == ["e", "a", "c"]  # the most probable first
    assert math.isnan(found[2].probability)
    assert "up to 3 %" in format_rare(found)  # 3 / 100
    assert rare_labels(known, None, [200] * 5) == ()
    assert rare_labels(known, [0, 1], [1000] * 5)[0].name == "c"  # whole stocks lack nothing


def test_at_most_three_are_printed_and_twenty_are_kept():
    known = [LabelCounts(f"p{at}", {0: 99, 1: 1}, 100, 100, whole=True) for at in range(30)]
    found = rare_labels(known, [0, 1], [50] * 30)
    assert len(found) == 20
    assert format_rare(found).count("probability 50 %") == 3
    assert format_rare(found).endswith(", and others")


def test_fresh_draws_are_counted_over_all_games():
    providers = [provider("north", 1000, 5), provider("south", 1000, 500)]
    few, many = (valued(providers, sb.Fresh(20), n_games=n) for n in (10, 100))
    probability = hypergeom.pmf(0, 1000, 5, 20)
    assert few.rare_labels[0].probability == pytest.approx(probability)
    said = (
        f"all 10 draws of 20 of north lack label 1 with probability {100 * probability**10:.2g} %"
    )
    assert said in str(few)
    assert said in page_of(few)
    assert "rare labels" not in str(many)
    assert f"(a single draw with {100 * probability:.2g} %, 5 of 1,000 records have it)" in str(few)


def test_absent_providers_make_fewer_draws():
    providers = [provider("north", 1000, 5), provider("south", 1000, 500)]
    probability = hypergeom.pmf(0, 1000, 5, 20)
    law, games = sb.Independent(0.5), 60
    found = valued(providers, sb.Fresh(20), n_games=games, participation=law)
    draws = int(law.simulate(["north", "south"], games, seed=found.seed)["north"].sum())
    assert 0 < draws < games
    assert found.rare_labels[0].probability == pytest.approx(probability)
    together = f"{100 * probability**draws:.2g} %"
    said = f"all {draws} draws of 20 of north lack label 1 with probability {together}"
    assert probability**games < 0.01 < probability**draws
    for text in (str(found), page_of(found), str(sb.Valuation.from_json(found.to_json()))):
        assert said in text
    assert "rare labels" not in str(valued(providers, sb.Fresh(20), n_games=games))
    (rare,) = found.rare_labels
    assert format_rare([rare], {"north": 0}) == ""
    once = "the only draw of 20 of north lacks label 1 with probability 90 % (5 of 1,000 records"
    assert once in format_rare([rare], {"north": 1})


def test_a_plan_counts_the_draws_of_providers_that_take_part():
    providers = [provider("north", 1000, 5), provider("south", 1000, 500)]
    options = {"n_sample": 20, "budget": sb.Budget(records=3000), "minutes": 0.05, "seed": 0}
    plan = sb.plan(providers, utility(), participation=sb.Independent(0.3), **options)
    (fresh,) = (row for row in plan.rows if isinstance(row.sampling, sb.Fresh))
    few = replace(plan, recommended=replace(fresh, n_games=30))
    present = sb.Independent(0.3).simulate(["north", "south"], 30, seed=0)["north"]
    draws, probability = int(present.sum()), hypergeom.pmf(0, 1000, 5, 20)
    assert 0 < draws < 30
    said = f"all {draws} draws of 20 of north lack label 1 with probability"
    assert f"{said} {100 * probability**draws:.2g} %" in str(few)
    assert "all 30 draws" in str(
        replace(few, pilot=replace(plan.pilot, arguments=_of_everybody(plan.pilot.arguments)))
    )


def _of_everybody(arguments):
    return replace(arguments, participation=None)


def test_pools_are_reported_in_text_report_and_documents():
    providers = [provider("north", 1000, 5), hidden("east", 0.0), provider("south", 1000, 500)]
    found = valued(providers, sb.Pooled(200, 20))
    assert [one.name for one in found.rare_labels] == ["north", "east"]
    for text in (str(found), page_of(found)):
        assert "a pool of 200 of north lacks label 1 with probability 33 %" in text
        assert "the pool of 200 of east lacks label 1, which does not exclude a share of up" in text
    again = sb.Valuation.from_json(found.to_json())
    assert str(again.rare_labels) == str(found.rare_labels)
    assert "rare labels" not in str(valued(providers[2:], sb.Pooled(200, 20)))


def test_quantities_have_no_rare_labels():
    X, y = records(100, 1)
    providers = [sb.Provider("north", sb.ArraySource(X, y.astype(float)))]
    linear = sb.LinearUtility(X_VAL, Y_VAL.astype(float))
    found = sb.value(providers, linear, sampling=sb.Pooled(50, 5), n_games=2, seed=0)
    assert found.rare_labels == ()


def test_a_plan_names_rare_and_unseen_labels():
    providers = [provider("north", 1000, 5), provider("south", 1000, 500)]
    options = {"n_sample": 10, "budget": sb.Budget(records=500), "minutes": 0.05, "seed": 0}
    plain = str(sb.plan(providers, utility(), **options))
    assert "of north lacks label 1 with probability" in plain
    assert "unseen labels" not in plain
    assert "unseen labels: a draw of 10 of north lacks label 1 with probability 95 %" in str(
        sb.plan(providers, utility("neg_log_loss"), **options)
    )
    assert "lacks" not in str(sb.plan(providers[1:], utility(), **options))


@pytest.mark.parametrize("sampling", [sb.Fresh(20), sb.Pooled(200, 20, replace=False)])
def test_the_log_loss_warns_before_the_games(sampling):
    providers = [provider("north", 200, 20), provider("south", 200, 100)]
    with pytest.warns(UnseenLabels, match=r"north lacks label 1 .* 11 %; .*neg_brier_score"):
        found = valued(providers, sampling, score="neg_log_loss")
    (unseen,) = found.unseen_labels
    assert unseen.probability == pytest.approx(hypergeom.pmf(0, 200, 20, 20))
    assert "score='neg_brier_score'" in str(found)
    assert "neg_brier_score" in page_of(found)
    assert valued(providers, sampling, score="neg_brier_score").unseen_labels == ()
    assert valued(providers[1:], sampling, score="neg_log_loss").unseen_labels == ()


def test_draws_with_replacement_lack_a_label_more_often():
    providers = [provider("north", 200, 20)]
    with pytest.warns(UnseenLabels, match="12 %"):
        found = valued(providers, sb.Pooled(200, 20), score="neg_log_loss")
    assert found.unseen_labels[0].probability == pytest.approx(0.9**20)


def test_draws_lack_a_label_as_often_as_warned():
    rng = np.random.default_rng(3)
    stock = LabelCounts("a", {"x": 6, "y": 30, "z": 64}, 100, 100, whole=True)
    (found,) = unseen_labels([stock], ["x", "y", "z"], [15])
    assert found.label == "'x'"
    lack = np.mean([rng.choice(100, 15, replace=False).min() >= 6 for _ in range(4000)])
    assert abs(lack - found.probability) < 4 * math.sqrt(found.probability / 4000)
    assert abs(lack - 0.7**15) > 10 * math.sqrt(found.probability / 4000)  # another label


def test_utilities_say_whether_they_are_scored_by_the_log_loss():
    class Own(sb.EstimatorUtility):
        def score(self, batch):
            return float(len(batch))

    model = LogisticRegression()
    custom = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")
    scored = {"neg_log_loss": True, "neg_brier_score": False, "accuracy": False}
    for score, expected in scored.items():
        for kind in (sb.LogisticUtility, sb.GaussianNBUtility, sb.LDAUtility):
            assert kind(X_VAL, Y_VAL, score=score).scored_by_log_loss is expected
        assert sb.EstimatorUtility(model, X_VAL, Y_VAL, score).scored_by_log_loss is expected
    assert sb.EstimatorUtility(model, X_VAL, Y_VAL, custom).scored_by_log_loss
    assert not sb.EstimatorUtility(model, X_VAL, Y_VAL).scored_by_log_loss
    assert not Own(model, X_VAL, Y_VAL, "neg_log_loss").scored_by_log_loss
    assert not sb.LinearUtility(X_VAL, Y_VAL.astype(float)).scored_by_log_loss


def test_labels_are_counted_by_value():
    batch = Batch(np.zeros((3, 1)), np.array([0.0, -0.0, 1.0]))
    assert LabelCounts.of("a", batch, 3, whole=True).missed(0, 1) == pytest.approx(1 / 3)
    assert RareLabel("a", "0", 2, 3, 1, 1 / 3).held is None
