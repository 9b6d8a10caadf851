"""
Hospitals with mixed columns
============================

Four hospitals predict which patients will be readmitted. Their tables have numbers, categories
and missing values, and the model is a scikit-learn pipeline. The patients are generated.
"""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import shapband as sb

rng = np.random.default_rng(4)
WARDS = {"surgery": 0.0, "medicine": 0.5, "cardiology": 1.2}


def patients(count, missing, wrong):
    frame = pd.DataFrame(
        {
            "age": rng.normal(62, 14, count).round(),
            "creatinine": rng.lognormal(0.0, 0.5, count).round(2),
            "ward": rng.choice(list(WARDS), count),
        }
    )
    risk = 0.05 * (frame["age"] - 62) + 1.5 * np.log(frame["creatinine"]) + frame["ward"].map(WARDS)
    readmitted = (risk - 0.6 + rng.logistic(size=count) > 0) ^ (rng.random(count) < wrong)
    frame["readmitted"] = np.where(readmitted, "yes", "no")
    frame.loc[rng.random(count) < missing, "creatinine"] = np.nan
    return frame


# %%
# The hospitals differ in the number of patients, in the share of missing laboratory values and in
# the share of outcomes that are recorded wrongly. "Hilltop" records two outcomes in five wrongly.

HOSPITALS = {
    "University": (500, 0.05, 0.02),
    "Riverside": (300, 0.10, 0.05),
    "County": (200, 0.60, 0.05),
    "Hilltop": (200, 0.10, 0.40),
}
table = pd.concat(patients(*facts).assign(hospital=name) for name, facts in HOSPITALS.items())
table.groupby("hospital", sort=False).agg(
    patients=("age", "size"), laboratory_values=("creatinine", "count")
)

# %%
# The pipeline is fitted to the records of every coalition, imputer and encoder included, and
# scored by the area under the ROC curve of 400 other patients.

numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
columns = ColumnTransformer(
    [
        ("numbers", numbers, ["age", "creatinine"]),
        ("categories", OneHotEncoder(handle_unknown="ignore"), ["ward"]),
    ]
)
model = make_pipeline(columns, LogisticRegression())
validation = patients(400, 0.1, 0.0)
utility = sb.utility_for(
    model, validation.drop(columns="readmitted"), validation["readmitted"], score="roc_auc"
)

# %%
# A hospital gives 50 patients to a query, and every game draws them anew.

valuation = sb.value(
    sb.providers_from_frame(table, by="hospital", target="readmitted"),
    utility,
    sampling=sb.Fresh(50),
    n_games=12,
    seed=0,
)
valuation.to_frame()[["expectation", "low", "high", "standard_deviation"]].round(3)

# %%
# A point and its dark bar are the estimate of an expected value and its error. The pale band is
# the spread of the value from one draw of patients to the next.

valuation.plot.forest()

# %%
# All hospitals give draws of the same size, so the number of their patients makes no difference.
# Wrong outcomes do: the interval of the difference between University and Hilltop is above zero.

gap = valuation.difference("University", "Hilltop")
print(f"University is {gap.estimate:.3f} above Hilltop: from {gap.low:.3f} to {gap.high:.3f}")

# %%
# More games would narrow the part of the error that comes from the games. The other part needs
# more validation rows. Their shares of the squared error are:

squared = valuation.error[["games", "validation"]] ** 2
squared.div(squared.sum(axis=1), axis=0).round(2)
