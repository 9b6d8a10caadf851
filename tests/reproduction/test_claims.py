"""The list of claims: every record is judged, rules follow the facts, templates print them."""

import re

import pandas as pd
import pytest

from reproduction import paper
from reproduction.claims import BETTER, CLAIMS, DOES_NOT, HOLDS, IN_RELATION, WORSE, evaluate
from reproduction.run import EXPERIMENTS
from tests.reproduction.tiny import SLOW, TINY


def template(monkeypatch, **columns):
    record = {"where": "II", "what": "-", "paper": "-", "theory": "-", "reason": "-", **columns}
    monkeypatch.setitem(CLAIMS, "tried", {"claims": [record]})


def test_every_record_belongs_to_an_experiment_and_has_one_kind_of_rule():
    assert list(CLAIMS) == list(EXPERIMENTS)
    for experiment in CLAIMS.values():
        for record in (record for group in experiment.values() for record in group):
            assert ("verdict" in record) == (record["where"] == "beyond"), record
            assert ("holds" in record) != ("verdict" in record), record


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long) if one in SLOW else one for one in TINY]
)
def test_every_record_is_judged(found, name):
    report, groups = found[name], CLAIMS[name]
    printed = [row.what for row in [*report.claims, *report.table, *report.beyond]]
    for record in (record for group in groups.values() for record in group):
        what = re.sub(r"\\\{.*?\\\}", ".+", re.escape(record["what"]))
        assert any(re.fullmatch(what, row) for row in printed), record["what"]


@pytest.mark.parametrize(("better", "verdict"), [(2, HOLDS), (1, IN_RELATION), (0, DOES_NOT)])
def test_the_verdict_follows_the_facts(better, verdict):
    (row,) = evaluate("digits.stratified", better=better)
    assert row.verdict == verdict
    assert row.ours == f"in {better} of 2 metrics"


@pytest.mark.parametrize(("wall", "verdict"), [(1.0, BETTER), (2.0, WORSE)])
def test_beyond_the_paper_the_verdict_compares(wall, verdict):
    (row,) = evaluate("latency.blocks", delay=10, printed=1.5, wall=wall, waiting=0.1)
    assert row.verdict == verdict


def test_templates_print_numbers_ranges_and_mappings(monkeypatch):
    template(monkeypatch, ours="{x:e}; {xs:.1f}; {xs:p}; {named:p}", holds="len(xs) == 2")
    facts = {"x": 0.000305, "xs": pd.Series([0.25, 0.5]), "named": {"wine": 0.5, "digits": 1.0}}
    (row,) = evaluate("tried.claims", **facts)
    assert row.ours == "3.05e-4; 0.2 to 0.5; 25.0 to 50.0 %; 50.0 % wine, 100.0 % digits"
    assert row.verdict == HOLDS


@pytest.mark.parametrize("rule", ["open('x')", "__import__('os')", "unknown > 1"])
def test_a_rule_knows_its_facts_and_nothing_else(monkeypatch, rule):
    template(monkeypatch, ours="-", holds=rule)
    with pytest.raises((NameError, ImportError)):
        evaluate("tried.claims")


def test_the_printed_tables_are_whole():
    """Numbers of the paper's Tables I to V, counted and looked up by hand."""
    assert [len(t) for t in (paper.BASELINE, paper.POOLED, paper.SOURCE_BUDGET)] == [96, 64, 20]
    assert (len(paper.SCALABILITY), paper.LATENCY.size) == (36, 36)
    first, last = paper.BASELINE.iloc[0], paper.POOLED.iloc[-1]
    assert (first.task, first.n_games, first.n_iter, first.theirs) == (
        "synthetic",
        10,
        100,
        9.16e-5,
    )
    assert (last.task, last.n_games, last.n_iter, last.theirs) == ("wine", 200, 1000, 5.23e-9)
    assert last.theirs_baseline == 1.14e-7
    assert paper.SOURCE_BUDGET.theirs_baseline.iloc[-1] == 2.88e-7
    assert paper.LATENCY.speedup[50, "pooled"] == 2.202
