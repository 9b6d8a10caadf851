"""Parts of a valuation print as tables; a valuation is a mapping and converts for other tools."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import shapband as sb

NAMES = ("plain", "<b>bold</b> & $5_#", "[first]", "end\x1b[2J\\{}~^ 7 %")


def providers(names=NAMES):
    rng = np.random.default_rng(0)
    return [
        sb.Provider(name, sb.ArraySource(np.zeros((50, 1)), rng.normal(at, 1, 50)))
        for at, name in enumerate(names)
    ]


def played(participants, n_games=30, **options):
    return sb.value(
        participants,
        sb.AdditiveUtility(),
        sampling=sb.Fresh(10),
        n_games=n_games,
        seed=0,
        **options,
    )


@pytest.fixture(scope="module")
def valuation():
    return played(providers())


@pytest.fixture(scope="module")
def grouped():
    first, *others = providers()
    return played([sb.Group("coast", [first, others[0]]), *others[1:]])


class Words(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


def results(valuation, grouped):
    return [
        valuation.ranks(),
        valuation.correlation(),
        valuation.distribution(),
        valuation.access,
        valuation.difference(NAMES[1], NAMES[3]),
        valuation[NAMES[1]],
        sb.compare(valuation, valuation),
        grouped.groups,
        sb.datasets.wine(),
    ]


def test_every_result_prints_one_table_in_text_and_html(valuation, grouped):
    for found in results(valuation, grouped):
        text, html = str(found), Words(found._repr_html_())
        assert len(text.splitlines()) > 1
        assert "\x1b" not in text + "".join(html.texts)
        assert html.tags <= {"div", "p", "table", "tr", "th", "td"}  # names are escaped
        printed = " ".join(" ".join(html.texts).split())
        for line in text.splitlines():  # both have the same words
            for word in line.split():
                assert word in printed
        assert repr(found).startswith(f"<{type(found).__name__}")
        assert "\n" not in repr(found)
        assert "\x1b" not in repr(found)


def test_a_difference_names_its_providers_and_its_level(valuation):
    found = valuation.difference("plain", "[first]", level=0.9)
    assert (found.a, found.b, found.level) == ("plain", "[first]", 0.9)
    header, row = str(found).splitlines()
    assert header.split(maxsplit=1)[1].split() == ["estimate", "±", "90", "%", "p-value"]
    assert row.startswith("plain − [first]")
    assert row.endswith("< 0.0001")


def test_correlations_of_many_providers_print_the_strongest_pairs():
    names = tuple(f"p{at:02}" for at in range(20))
    found = played(providers(names)).correlation()
    lines = str(found).splitlines()
    assert lines[-1] == "the 10 strongest of 190 pairs; to_frame() has all of them"
    upper = np.abs(found.estimate[np.triu_indices(20, k=1)])
    shown = [abs(float(line.split()[2])) for line in lines[3:-2]]
    assert shown == [float(f"{one:.2f}") for one in np.sort(upper)[::-1][:10]]


def test_a_quantile_without_an_end_does_not_show_six_digits(valuation):
    found = valuation.distribution(quantiles=(0.05,))
    assert np.isinf(found.low).any()
    cells = [line.split()[-3] for line in str(found).splitlines()[3:]]
    assert max(len(cell.partition(".")[2]) for cell in cells) <= 3


def test_access_prints_every_provider_and_the_total():
    used = sb.AccessReport({"a": sb.extend.Usage(1, 20, 0.5), "b": sb.extend.Usage(2, 3000, 1.25)})
    assert str(used).splitlines() == [
        "provider  requests  records  seconds",
        "a                1       20     0.50",
        "b                2    3,000     1.25",
        "total            3    3,020     1.75",
    ]
    assert repr(used) == "<AccessReport: 3,020 records in 3 requests to 2 providers>"
    assert str(sb.AccessReport()).splitlines()[-1].split() == ["total", "0", "0", "0.00"]


def test_a_valuation_is_a_mapping_from_names(valuation):
    assert len(valuation) == 4
    assert tuple(valuation) == valuation.keys() == valuation.names == NAMES
    assert "plain" in valuation
    assert "planet" not in valuation
    assert 3 not in valuation
    assert bool(valuation)
    assert list(dict(valuation)) == list(NAMES)


def test_one_provider_has_the_numbers_of_the_arrays(valuation):
    shares = valuation.expectation / valuation.expectation.sum()
    for at, (name, one) in enumerate(dict(valuation).items()):
        assert one.name == name
        assert one.expectation == valuation.expectation[at]
        assert one.standard_error == valuation.standard_error[at]
        assert one.interval == tuple(valuation.interval()[at])
        assert one.variance == valuation.variance[at]
        assert one.standard_deviation == valuation.standard_deviation[at]
        assert one.variance_interval == tuple(valuation.variance_interval()[at])
        assert one.share == pytest.approx(shares[at])
        assert one.rank == valuation.ranks().rank[at]
        assert (one.draw_size, one.requests, one.records) == (10, 30, 300)
    with pytest.raises(AttributeError):
        one.expectation = 0.0


def test_a_share_is_not_known_if_the_total_may_be_zero():
    rng = np.random.default_rng(0)
    levels = rng.normal(size=(2, 50))
    made = [
        sb.Provider(name, sb.ArraySource(np.zeros((50, 1)), sign * levels[0]))
        for name, sign in (("a", 1.0), ("b", -1.0))
    ]
    one = played(made)["a"]
    assert np.isnan(one.share)
    assert "–" in str(one)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plane", "valuation['plane'] is not a provider: did you mean plain?"),
        ("", "valuation[''] is not a provider: known are plain, "),
        (0, "valuation[...]: pass the name of a provider; received 0"),
        (["plain"], "valuation[...]: pass the name of a provider; received ['plain']"),
    ],
)
def test_an_unknown_name_is_an_error_with_a_suggestion(valuation, name, message):
    with pytest.raises(sb.errors.UnknownProvider) as raised:
        valuation[name]
    assert str(raised.value).startswith(message)
    assert isinstance(raised.value, KeyError)
    assert isinstance(raised.value, sb.errors.InvalidInput)


def test_the_name_of_a_group_is_explained(grouped):
    with pytest.raises(KeyError, match=r"is a group: valuation\.groups has the values"):
        grouped["coast"]


def test_polars_and_pandas_hold_the_same_numbers(grouped):
    pandas, polars = grouped.to_frame(), grouped.to_frame("polars")
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["provider", *pandas.columns]
    for name in pandas.columns:
        ours = [None if one is None or one != one else one for one in pandas[name].tolist()]
        theirs = [None if one is None or one != one else one for one in polars[name].to_list()]
        assert ours == theirs
    np.testing.assert_array_equal(
        grouped.to_frame("polars", level=0.5)["low"], grouped.interval(0.5)[:, 0]
    )


@pytest.mark.parametrize("bad", [0.9, "polar", None])
def test_another_library_is_refused_with_the_remedy(valuation, bad):
    with pytest.raises(sb.errors.InvalidInput, match=r"library must be .* to_frame\(level=0.9\)"):
        valuation.to_frame(bad)


def test_a_dataset_has_both_dimensions(grouped):
    found = grouped.to_xarray(level=0.5)
    assert isinstance(found, xr.Dataset)
    assert dict(found.sizes) == {"provider": 4, "game": 30}
    np.testing.assert_array_equal(found["games"].sel(provider="plain"), grouped.games[:, 0])
    np.testing.assert_array_equal(found["high"], grouped.interval(0.5)[:, 1])
    assert found["group"].sel(provider="plain").item() == "coast"
    assert found.attrs["seed"] == 0


@pytest.mark.parametrize(
    ("package", "convert", "remedy"),
    [
        ("xarray", sb.Valuation.to_xarray, r"pip install 'shapband\[xarray\]'"),
        ("polars", lambda valuation: valuation.to_frame("polars"), "pip install polars"),
    ],
)
def test_a_missing_package_is_an_error_with_the_command(
    valuation, package, convert, remedy, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(sb.errors.InvalidInput, match=remedy):
        convert(valuation)


def test_latex_has_the_printed_numbers_and_escaped_names(grouped):
    lines = grouped.to_latex().splitlines()
    assert lines[:4] == [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"provider & expectation & $\pm$ 95\,\% & share & sd of value \\",
        r"\midrule",
    ]
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    rows = lines[4:-2]
    names = [row.split(" & ")[0] for row in rows]
    assert set(names) == {
        "coast",
        r"\quad plain",
        r"\quad \textless{}b\textgreater{}bold\textless{}/b\textgreater{} \& \$5\_\#",
        "{}[first]",
        r"end\textbackslash{}x1b[2J\textbackslash{}\{\}\textasciitilde{}\textasciicircum{} 7\,\%",
    }
    printed = str(grouped).splitlines()[4:]
    for row, line in zip(rows, printed, strict=False):
        assert row.endswith(r" \\")
        mean, half = row.replace(r"\&", "").removesuffix(r" \\").split(" & ")[1:3]
        assert mean in line.split()
        assert half in line.split()
