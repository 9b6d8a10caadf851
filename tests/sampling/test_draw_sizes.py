"""Draw sizes of one's own: a fraction of each stock, or numbers by provider name."""

from pathlib import Path

import numpy as np
import pytest
from tests.bad_input import counted, refused
from tests.conftest import gaussian_providers, linear_providers
from tests.runs.small import assert_same

import shapband as sb
from shapband.access.access import Access
from shapband.app.config.config import Config
from shapband.engine.arguments import check_arguments
from shapband.engine.workers.local import LocalWorkers
from shapband.errors import InvalidInput, RunError
from shapband.runs.run import begin
from shapband.seeds import Seeds

STOCKS = {"north": 150, "south": 18, "west": 64}
SIZES = {"north": 60, "south": 6, "west": 20}
EVERY = [
    sb.Fresh(SIZES),
    sb.Pooled(140, SIZES),
    sb.Pooled(140, SIZES, replace=False),
    sb.Pooled(140, SIZES, replace=False),
]
WITH = {
    "fresh": lambda size: sb.Fresh(size),
    "pooled": lambda size: sb.Pooled(140, size),
    "subsets": lambda size: sb.Pooled(140, size, replace=False),
    "blocks": lambda size: sb.Pooled(140, size, replace=False),
}


def providers(stocks=STOCKS):
    return [
        sb.Provider(name, sb.ArraySource(np.arange(float(size)), np.arange(float(size))))
        for name, size in stocks.items()
    ]


def prepared(sampling, given=None):
    given = given or providers()
    sampling.check(given)
    return sampling.prepare(Access(given, Seeds(3), sb.Budget()))


@pytest.mark.parametrize(
    ("fraction", "stock", "size"),
    [
        (0.3, 150, 45),
        (0.3, 18, 5),  # 5.4, rounded down
        (0.3, 1, 1),  # never nobody
        (1e-12, 150, 1),
        (0.29, 100, 29),  # 28.999999999999996 in floating point
        (1 / 3, 150, 50),
        (0.999, 10, 9),
        (np.float32(0.5), 7, 3),
    ],
)
def test_a_fraction_is_that_of_the_stock_rounded_down(fraction, stock, size):
    realisation = prepared(sb.Fresh(fraction), providers({"one": stock}))
    assert realisation.design.draw_sizes.tolist() == [size]
    assert [len(batch) for batch in realisation.draws(range(1))[0].batches()] == [size]


def test_a_fraction_does_not_depend_on_the_pools():
    """So that all samplings with one fraction estimate the same thing."""
    for n_pool in (36, 60, 500):
        realisation = prepared(sb.Pooled(n_pool, 0.3))
        assert realisation.design.draw_sizes.tolist() == [45, 5, 19]
    assert prepared(sb.Pooled(90, 0.3, replace=False)).design.draw_sizes.tolist() == [45, 5, 19]


@pytest.mark.parametrize("kind", WITH)
@pytest.mark.parametrize("turned", [False, True])
def test_a_draw_depends_on_its_own_size_only(kind, turned):
    """Every provider draws what it draws where all have its size; shuffles are cut as often."""
    given = providers()[::-1] if turned else providers()
    found = prepared(WITH[kind](SIZES), given)
    assert (
        dict(zip((p.name for p in given), found.design.draw_sizes.tolist(), strict=True)) == SIZES
    )
    for at, provider in enumerate(given):
        alone = prepared(WITH[kind](SIZES[provider.name]), [provider])
        shared = [found.design.per_shuffle, alone.design.per_shuffle]
        games = range(min(shared) if shared[0] else 5)
        np.testing.assert_array_equal(
            found.draws(games)[at].rows, alone.draws(games)[0].rows, strict=True
        )


def test_blocks_cut_a_shuffle_as_often_as_the_pool_with_the_fewest_draws():
    realisation = prepared(sb.Pooled(140, SIZES, replace=False))
    assert realisation.design.per_shuffle == min(140 // 60, 18 // 6, 64 // 20) == 2
    for drawn, size in zip(realisation.draws(range(8)), SIZES.values(), strict=True):
        for shuffle in drawn.rows.reshape(4, 2 * size):
            assert len(set(shuffle.tolist())) == 2 * size


@pytest.mark.parametrize("kind", WITH)
def test_equal_sizes_by_name_are_one_number(kind):
    one = prepared(WITH[kind](5))
    other = prepared(WITH[kind](dict.fromkeys(STOCKS, 5)))
    assert one.design.estimand == other.design.estimand
    assert one.design.per_shuffle == other.design.per_shuffle
    assert one.cost == other.cost
    for first, second in zip(one.draws(range(7)), other.draws(range(7)), strict=True):
        np.testing.assert_array_equal(first.rows, second.rows)


def test_a_game_costs_the_sum_of_the_sizes():
    assert prepared(sb.Fresh(SIZES)).cost == sb.extend.Cost(requests=3, records=86)
    with pytest.raises(sb.errors.BudgetExceeded, match="take 86 records in 3 requests"):
        sb.value(
            providers(), sb.AdditiveUtility(), sampling=sb.Fresh(SIZES), n_games=3, seed=0,
            budget=sb.Budget(records=171),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("sampling", "estimand"),
    [
        (sb.Fresh(SIZES), "draws of 6 to 60 records from the sources"),
        (sb.Fresh(0.3), "draws of 5 to 45 records (0.3 of each stock) from the sources"),
        (
            sb.Pooled(140, 0.3),
            "draws of 5 to 45 records (0.3 of each stock) with replacement from pools of 18 to 140",
        ),
        (
            sb.Pooled(140, SIZES, replace=False),
            "draws of 6 to 60 records from the sources, by way of pools of 18 to 140",
        ),
    ],
    ids=repr,
)
def test_the_estimand_tells_the_sizes(sampling, estimand):
    assert prepared(sampling).design.estimand == estimand


def test_sizes_are_kept_in_one_form():
    turned = dict(reversed(SIZES.items()))
    assert list(turned) != list(SIZES)
    assert sb.Fresh(turned) == sb.Fresh(SIZES)
    assert repr(sb.Fresh(turned)) == "Fresh(n_sample={'north': 60, 'south': 6, 'west': 20})"
    assert repr(sb.Pooled(9, {"a": np.int64(2)})) == "Pooled(n_pool=9, n_boot={'a': 2})"
    assert repr(sb.Fresh(np.float64(0.25))) == "Fresh(n_sample=0.25)"
    sampling = sb.Fresh(turned)
    turned["north"] = 1
    assert sampling.n_sample == SIZES


@pytest.mark.parametrize("kind", WITH)
@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {**SIZES, "sout": 3},
            "must name providers only, and 'sout' is not one of them; did you mean south?",
        ),
        (
            {**SIZES, "xyz": 3},
            "must name providers only, and 'xyz' is not one of them; known are north, south, west",
        ),
        (
            {"north": 6, "west": 6},
            "must name every provider, and 'south' is missing: add its size, or leave the "
            "provider out",
        ),
    ],
)
def test_names_that_are_not_those_of_the_providers_are_refused(kind, sizes, message):
    sampling = WITH[kind](sizes)
    argument = "n_boot" if isinstance(sampling, sb.Pooled) else "n_sample"
    said = refused(sampling.check, providers=providers())
    assert said == f"{type(sampling).__name__}: {argument} {message}"


def test_an_unknown_name_among_hundreds_lists_a_few():
    stocks = {f"hospital {i}": 10 for i in range(500)}
    said = refused(sb.Fresh({"clinic": 3}).check, providers=providers(stocks))
    assert said.endswith("hospital 11 and 488 more")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({}, "must name every provider; it is empty"),
        ({1: 5}, "must have provider names as keys; received 1"),
        ({"a": 0}, "of provider 'a' must be a whole number of at least 1; received 0"),
        ({"a": 0.5}, "of provider 'a' must be a whole number of at least 1; received 0.5"),
        ({"a": True}, "of provider 'a' must be a whole number of at least 1; received True"),
        ({"a": 10**13}, "of provider 'a' must be at most 1,000,000,000,000"),
    ],
    ids=str,
)
def test_mappings_that_are_no_sizes_are_refused(sizes, message):
    assert refused(sb.Fresh, n_sample=sizes).startswith(f"Fresh: n_sample {message}")
    assert refused(sb.Pooled, n_pool=9, n_boot=sizes).startswith(f"Pooled: n_boot {message}")


@pytest.mark.parametrize("size", [0.5, {"a": 4}], ids=repr)
def test_a_mean_over_providers_is_one_number(size):
    said = refused(sb.Stratified, n_pool=9, n_boot=size, alpha=0.5)
    assert "the mean over providers" in said


@pytest.mark.parametrize("kind", WITH)
def test_a_fraction_of_an_unknown_stock_is_refused_by_name(kind):
    near = counted(np.arange(50.0), np.arange(50.0))
    given = [sb.Provider("near", near), *gaussian_providers([0.0], [1.0])]
    said = refused(
        sb.value, providers=given, utility=sb.AdditiveUtility(), sampling=WITH[kind](0.2)
    )
    assert "=0.2 is a fraction of each stock, but the source of provider 'g0' has no known" in said
    assert near.asked == 0
    WITH[kind]({"near": 5, "g0": 30}).check(given)


def test_a_fraction_of_a_source_that_repeats_records_is_that_of_its_size():
    given = [sb.Provider("a", sb.ArraySource(np.arange(10.0), np.arange(10.0), replace=True))]
    assert prepared(sb.Fresh(0.5), given).design.draw_sizes.tolist() == [5]


def test_draws_that_do_not_fit_are_refused_with_the_size_that_does():
    assert refused(sb.Fresh({**SIZES, "south": 19}).check, providers=providers()) == (
        "Fresh: provider 'south' has 18 records, fewer than n_sample=19: lower n_sample, give "
        "sizes by provider name, or leave the provider out"
    )
    assert refused(sb.Pooled(140, 0.6, replace=False).check, providers=providers()) == (
        "Pooled: provider 'north' has 150 records, fewer than 2 draws of n_boot=0.6 (90 "
        "records): lower n_boot, give sizes by provider name, or leave the provider out"
    )
    assert refused(sb.Pooled(80, 0.4, replace=False).check, providers=providers()) == (
        "Pooled: n_pool=80 must hold two draws of every provider, and a draw of 'north' has "
        "n_boot=0.4 (60 records): raise n_pool to 120, or lower n_boot"
    )
    sb.Pooled(120, 0.4, replace=False).check(providers())
    assert "n_boot=71 must be at most half" in refused(
        sb.Pooled, n_pool=140, n_boot={"north": 71, "south": 2}, replace=False
    )


@pytest.mark.parametrize(
    "sampling", [*EVERY, sb.Fresh(0.3), sb.Pooled(100, 0.2, replace=False)], ids=repr
)
def test_they_conform(sampling):
    sb.testing.check_sampling(sampling, providers())


def test_sizes_by_name_need_the_providers_of_their_names():
    with pytest.raises(InvalidInput, match="refuses the providers: pass others"):
        sb.testing.check_sampling(sb.Fresh(SIZES))


def valued(sampling, **changes):
    given, validation = linear_providers(n=3, records=60)
    arguments = {"sampling": sampling, "n_games": 40, "seed": 5, **changes}
    return sb.value(given, sb.LinearUtility(*validation), **arguments)


NAMED = {"site 0": 30, "site 1": 8, "site 2": 14}


@pytest.mark.parametrize(
    "sampling",
    [
        sb.Fresh(NAMED),
        sb.Fresh(0.4),
        sb.Pooled(50, NAMED),
        sb.Pooled(60, 0.4, replace=False),
        sb.Pooled(60, NAMED, replace=False),
    ],
    ids=repr,
)
def test_a_valuation_has_the_same_bits_however_it_is_played(sampling, tmp_path):
    expected = valued(sampling)
    for changes in ({"chunk_size": 1}, {"chunk_size": 7}, {"n_jobs": 2}, {"run": tmp_path / "run"}):
        assert_same(valued(sampling, **changes), expected)
    assert_same(valued(sampling, run=tmp_path / "run"), expected)
    assert_same(sb.Valuation.from_json(expected.to_json()), expected)
    shown = str(expected)
    assert repr(sampling) in shown
    assert f"of {expected.estimand}" in shown.splitlines()


@pytest.mark.parametrize("sampling", [sb.Fresh(NAMED), sb.Pooled(60, 0.2, replace=False)], ids=repr)
def test_an_interrupted_run_goes_on_with_the_same_bits(sampling, tmp_path):
    given, validation = linear_providers(n=3, records=60)
    plan = check_arguments(
        given, sb.LinearUtility(*validation), sampling=sampling, n_games=40, seed=5, chunk_size=6
    )

    def watch(progress):
        if progress.done >= 18:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path / "run", plan, LocalWorkers(1, threads=True), watch)
    assert sb.load(tmp_path / "run").status.done == 18
    assert_same(valued(sampling, run=tmp_path / "run"), valued(sampling))


def test_a_run_knows_its_sizes(tmp_path):
    valuation = valued(sb.Fresh(NAMED), run=tmp_path / "run")
    turned = dict(reversed(NAMED.items()))
    assert_same(valued(sb.Fresh(turned), run=tmp_path / "run"), valuation)
    for other in (sb.Fresh({**NAMED, "site 1": 9}), sb.Fresh(0.4), sb.Fresh(30)):
        with pytest.raises(RunError, match=r"the sampling changed since the run .* began, from"):
            valued(other, run=tmp_path / "run")


def test_other_sizes_are_told_when_valuations_are_compared():
    other = {**NAMED, "site 1": 14, "site 2": 8}
    one, two = valued(sb.Fresh(NAMED)), valued(sb.Fresh(other), seed=6)
    assert one.estimand == two.estimand
    (warning, note) = sb.compare(one, two).notes
    assert warning.startswith("warning: no provider is flagged, because the valuations draw")
    assert note.startswith("note: the sampling differs")
    assert "draw different" not in " ".join(sb.compare(one, valued(sb.Fresh(NAMED), seed=6)).notes)


WINE = 'providers = [{ source = { kind = "task", task = "wine" } }]\nn_games = 6\nseed = 0\n'


def test_a_configuration_may_hold_a_table_of_sizes(wine):
    names = [provider.name for provider in wine.providers]
    sizes = {name: 10 + at for at, name in enumerate(names)}
    table = "\n".join(f'"{name}" = {size}' for name, size in sizes.items())
    for kind, key, rest, made in (
        ("fresh", "n_sample", "", sb.Fresh(sizes)),
        ("pooled", "n_boot", "n_pool = 50\n", sb.Pooled(50, sizes)),
    ):
        head = f"{WINE}[sampling]\nkind = '{kind}'\n{rest}"
        found = Config.parse(f"{head}[sampling.{key}]\n{table}\n")
        assert found.build(Path()).arguments.sampling == made
        assert Config.parse(f"{head}{key} = 0.2\n").sampling.model_dump()[key] == 0.2


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("1.0", "sampling.n_sample: must be a whole number of at least 1, a fraction of each"),
        ("{ a = 0 }", "sampling.n_sample: of provider 'a' must be a whole number of at least 1"),
        ("{ }", "sampling.n_sample: must name every provider; it is empty"),
        ("{ x = 5 }", "sampling: Fresh: n_sample must name providers only, and 'x' is not one"),
    ],
)
def test_sizes_in_a_configuration_that_are_wrong_name_the_key(size, message):
    with pytest.raises(InvalidInput) as caught:
        Config.parse(f"{WINE}sampling = {{ kind = 'fresh', n_sample = {size} }}").build(Path())
    assert str(caught.value).startswith(message)
