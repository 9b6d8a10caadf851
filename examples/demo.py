"""Value ten wine providers with three methods, and show the errors of each.

Ten providers own data on white wines of different alcohol content. A model predicts the quality
of a wine. Every game draws a new random sample of each provider's wines, so the value of a
provider is random. The tables and the picture show its expectation, its standard deviation, and
the errors of three methods that estimate them. The report of `Pooled` is written beside it.

    python examples/demo.py [picture.png] [games]
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import shapband as sb

SAMPLINGS = {
    "Fresh": sb.Fresh(n_sample=60),
    "Pooled": sb.Pooled(n_pool=250, n_boot=60),
    "Stratified": sb.Stratified(n_pool=250, n_boot=60, alpha=0.5),
}


def main(picture: Path = Path("demo.png"), n_games: int = 200) -> None:
    task = sb.datasets.wine()
    valuations = {
        name: sb.value(
            task.providers,
            task.utility,
            sampling=sampling,
            solver=sb.Exact(),
            n_games=n_games,
            seed=0,
        )
        for name, sampling in SAMPLINGS.items()
    }

    console = Console(width=100, highlight=False)  # width of the tables, also in a file
    console.print(provider_table(valuations, n_games))
    console.print(method_table(valuations))
    console.print(how_to_read(valuations))
    save_picture(valuations, picture)
    console.print(f"\nPicture: {picture.resolve()}", soft_wrap=True)
    report = picture.with_suffix(".html")
    valuations["Pooled"].report(report)
    console.print(f"Report:  {report.resolve()}", soft_wrap=True)


def provider_table(valuations: Mapping[str, sb.Valuation], n_games: int) -> Table:
    """One row per provider; for each method the expectation and standard deviation of its value."""
    table = plain_table(f"Shapley values of ten wine providers, {n_games:,} games")
    table.add_column("provider", no_wrap=True, vertical="bottom")
    columns = []
    for name, valuation in valuations.items():
        table.add_column(f"{name}\nexpectation\n± error", justify="right", no_wrap=True)
        table.add_column("sd of\nvalue", justify="right", no_wrap=True)
        error = np.diff(valuation.interval(0.95), axis=1)[:, 0] / 2
        estimates = zip(valuation.expectation, error, strict=True)
        columns.append([f"{mean:.4f} ± {half:.4f}" for mean, half in estimates])
        columns.append([f"{deviation:.4f}" for deviation in valuation.standard_deviation])
    for provider, *cells in zip(valuations["Fresh"].names, *columns, strict=True):
        table.add_row(provider, *cells)
    return table


def method_table(valuations: Mapping[str, sb.Valuation]) -> Table:
    """One row per method: requests and records, time, and what is estimated."""
    table = plain_table("\nWhat each method took, and what it estimates")
    for header in ("method", "records", "requests", "access", "other time", "coalitions"):
        table.add_column(header, justify="left" if header == "method" else "right", no_wrap=True)
    table.add_column("estimates the value of")
    for name, valuation in valuations.items():
        access = valuation.access
        table.add_row(
            name,
            f"{access.records:,}",
            f"{access.requests:,}",
            f"{access.seconds:.2f} s",
            f"{valuation.seconds - access.seconds:.2f} s",
            f"{valuation.evaluations:,}",
            valuation.estimand,
        )
    return table


def plain_table(title: str) -> Table:
    return Table(title=title, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)


def how_to_read(valuations: Mapping[str, sb.Valuation]) -> str:
    fresh, pooled = valuations["Fresh"].access, valuations["Pooled"].access
    return (
        "\nThe error is half of a 95 % interval. The sd of value is how far a provider's worth "
        "moves from one data draw to the next: that is real, and more games only measure it "
        "better.\n"
        f"Pools ask every source once, for {pooled.records:,} records instead of "
        f"{fresh.records:,}. Other wines might have been bought, and their errors include that: "
        "they are wider, and more games alone narrow them little. Stratified lets some providers "
        "bring more wines than others, so its values differ from those of the other two."
    )


def save_picture(valuations: Mapping[str, sb.Valuation], path: Path) -> None:
    figure = Figure(figsize=(9.1, 6.4), layout="constrained")
    figure.suptitle("What ten wine providers are worth, and how sure we are", x=0.0, ha="left")
    labelled = {f"{name}: {one.access.records:,} records": one for name, one in valuations.items()}
    label = next(iter(labelled))
    first = labelled.pop(label)
    ax = first.plot.beside(label, labelled, figure.subplots())
    ax.set_xlabel("Shapley value: share of the score 1 / (1 + MSE)")
    figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15)


if __name__ == "__main__":
    main(Path((sys.argv[1:2] or ["demo.png"])[0]), int((sys.argv[2:3] or ["200"])[0]))
