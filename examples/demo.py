"""Value ten wine providers, and compare the three methods of the paper.

Ten providers own data on white wines of different alcohol content. A model predicts the quality
of a wine. Every game draws a new random sample of each provider's wines, so the value of a
provider is random. The first table, the picture and the report show its expectation and its
standard deviation, with the errors of both, by the method that the documentation recommends. Then
the paper's three methods value the same providers; a second picture compares them.

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

RECOMMENDED = sb.Pooled(n_pool=250, n_boot=60, replace=False)
OF_THE_PAPER = {
    "Fresh": sb.Fresh(n_sample=60),
    "Pooled": sb.Pooled(n_pool=250, n_boot=60),
    "Stratified": sb.Stratified(n_pool=250, n_boot=60, alpha=0.5),
}
X_LABEL = "Shapley value: share of the score 1 / (1 + MSE)"


def main(picture: Path = Path("demo.png"), n_games: int = 200) -> None:
    console = Console(width=100, highlight=False)  # width of the tables, also in a file
    task = sb.datasets.wine()

    def value(sampling: sb.Sampling) -> sb.Valuation:
        return sb.value(
            task.providers,
            task.utility,
            sampling=sampling,
            solver=sb.Exact(),
            n_games=n_games,
            seed=0,
        )

    first = value(RECOMMENDED)
    console.print("Shapley values of ten wine providers\n")
    console.print(str(first), soft_wrap=True)
    save_picture(first, picture)
    report = picture.with_suffix(".html")
    first.report(report, title="Ten wine providers, by one of the four methods of the demo")
    console.print(f"\nPicture: {picture.resolve()}", soft_wrap=True)
    console.print(f"Report:  {report.resolve()}", soft_wrap=True)

    valuations = {name: value(sampling) for name, sampling in OF_THE_PAPER.items()}
    console.print(provider_table(valuations, n_games))
    console.print(method_table(valuations))
    console.print(how_to_read(valuations))
    compared = picture.with_name(f"{picture.stem}-methods{picture.suffix}")
    save_comparison(valuations, compared)
    console.print(f"\nPicture of the three: {compared.resolve()}", soft_wrap=True)


def provider_table(valuations: Mapping[str, sb.Valuation], n_games: int) -> Table:
    """One row per provider; for each method the expectation and standard deviation of its value."""
    table = plain_table(f"\nThe same by the three methods of the paper, {n_games:,} games each")
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


def save_picture(valuation: sb.Valuation, path: Path) -> None:
    """One method, with the providers sorted by value."""
    figure = Figure(figsize=(9.1, 5.2), layout="constrained")
    figure.suptitle("What ten wine providers are worth, and how sure we are", x=0.0, ha="left")
    valuation.plot.forest(figure.subplots()).set_xlabel(X_LABEL)
    figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15)


def save_comparison(valuations: Mapping[str, sb.Valuation], path: Path) -> None:
    """The methods beside each other."""
    figure = Figure(figsize=(9.1, 6.4), layout="constrained")
    figure.suptitle("Three methods of the paper, for the same providers", x=0.0, ha="left")
    labelled = {f"{name}: {one.access.records:,} records": one for name, one in valuations.items()}
    label = next(iter(labelled))
    first = labelled.pop(label)
    first.plot.beside(label, labelled, figure.subplots()).set_xlabel(X_LABEL)
    figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15)


if __name__ == "__main__":
    main(Path((sys.argv[1:2] or ["demo.png"])[0]), int((sys.argv[2:3] or ["200"])[0]))
