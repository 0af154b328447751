"""Molecules from a CSV: train a regressor with scikit-learn's conventions, test it, and predict with intervals.

The table has 120 small molecules and their logP, computed by RDKit. On the command line the same is `pfgnn fit
molecules.csv` and `pfgnn predict molecules-model new.csv`.
"""

import csv
from pathlib import Path

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

from pfgnn import PFGNNRegressor

TABLE = Path(__file__).with_name("molecules.csv")


def main() -> dict[str, float]:
    """Train on three quarters of the table. Print and return the mean absolute errors, and the coverage."""
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    smiles, logp = [row["smiles"] for row in rows], np.array([float(row["logp"]) for row in rows])
    train, test, y_train, y_test = train_test_split(smiles, logp, random_state=0)

    # With so few molecules, much is held out for the intervals. With some thousands the default is better.
    model = PFGNNRegressor(
        width=32, particles=4, epochs=20, learning_rate=3e-3, draws=4, calibration_fraction=0.3, random_state=0
    )
    model.fit(train, y_train)
    median = DummyRegressor(strategy="median").fit(train, y_train)
    low, high = model.predict_interval(test, coverage=0.8).T
    found = {
        "model": float(mean_absolute_error(y_test, model.predict(test))),
        "median": float(mean_absolute_error(y_test, median.predict(test))),
        "coverage": float(np.mean((low <= y_test) & (y_test <= high))),
    }
    print(f"mean absolute error of logP: {found['model']:.2f}; {found['median']:.2f} if the median is predicted")
    print(f"{found['coverage']:.0%} of {len(test)} true values lie in the intervals that should hold 80 %")
    for molecule, (start, end) in zip(test[:3], model.predict_interval(test[:3], coverage=0.8), strict=True):
        print(f"{molecule}: logP between {start:.2f} and {end:.2f}")
    return found


if __name__ == "__main__":
    main()
