"""Six hospitals and a model of readmission: mixed columns, missing values, a limit on access.

The patients are generated: no real person is in this table. The hospitals differ in size, in the
age of their patients, and in how many laboratory values are missing and outcomes recorded wrongly.
A game uses a fifth of the patients of each, and 3,000 records may be asked for in all.

    python examples/hospitals.py [report.html]
"""

import sys

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import shapband as sb

# name: patients, mean age, share of missing laboratory values, share of outcomes recorded wrongly
HOSPITALS = {
    "University": (600, 58, 0.05, 0.02),
    "St. Mary": (400, 66, 0.10, 0.05),
    "Riverside": (300, 61, 0.10, 0.10),
    "Children's": (250, 9, 0.05, 0.02),
    "County": (150, 70, 0.30, 0.15),
    "Hilltop": (100, 64, 0.40, 0.45),
}
WARDS = ["surgery", "medicine", "cardiology", "obstetrics"]
WARD_RISK = {"surgery": 0.0, "medicine": 0.4, "cardiology": 0.9, "obstetrics": -0.6}
NUMBERS = ["age", "days", "admissions", "creatinine"]
CATEGORIES = ["ward", "insurance"]


def patients(
    rng: np.random.Generator, size: int, age: float, missing: float, wrong: float
) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "age": rng.normal(age, 12 if age > 18 else 4, size).clip(0, 100).round(),
            "days": rng.gamma(2.0, 3.0, size).round() + 1,
            "admissions": rng.poisson(0.8, size),
            "creatinine": rng.lognormal(0.0, 0.4, size).round(2),
            "ward": rng.choice(WARDS, size, p=[0.35, 0.35, 0.2, 0.1]),
            "insurance": rng.choice(["public", "private", "none"], size, p=[0.6, 0.3, 0.1]),
        }
    )
    risk = (
        -3.2 + 0.02 * frame["age"] + 0.08 * frame["days"] + 0.9 * frame["admissions"]
        + 0.8 * np.log(frame["creatinine"]) + frame["ward"].map(WARD_RISK)
    )  # fmt: skip
    readmitted = rng.random(size) < 1 / (1 + np.exp(-risk))
    frame["readmitted"] = np.where(readmitted ^ (rng.random(size) < wrong), "yes", "no")
    frame.loc[rng.random(size) < missing, "creatinine"] = np.nan
    frame.loc[rng.random(size) < missing / 2, "insurance"] = None
    return frame


def model() -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore")  # a missing entry is a category, too
    columns = ColumnTransformer([("n", numbers, NUMBERS), ("c", categories, CATEGORIES)])
    return make_pipeline(columns, LogisticRegression(C=0.3))


def main(report: str = "hospitals.html") -> None:
    rng = np.random.default_rng(7)
    table = pd.concat(
        patients(rng, *facts).assign(hospital=name) for name, facts in HOSPITALS.items()
    )
    validation = patients(rng, size=500, age=62, missing=0.1, wrong=0.0)
    utility = sb.EstimatorUtility(
        model(), validation.drop(columns="readmitted"), validation["readmitted"], score="roc_auc"
    )
    valuation = sb.value(
        sb.providers_from_frame(table, by="hospital", target="readmitted"),
        utility,
        sampling=sb.Fresh(0.2),  # of its patients, so that large hospitals bring more
        solver=sb.Strata(n_evaluations=24),  # of 63 coalitions in a game
        budget=sb.Budget(records=3_000),
        n_games=1_000,
        seed=1,
    )
    print(valuation)
    gap = valuation.difference("University", "Hilltop")
    print(f"University is {gap.estimate:.3f} above Hilltop: from {gap.low:.3f} to {gap.high:.3f}")
    valuation.report(report)


if __name__ == "__main__":
    main(*sys.argv[1:2])
