"""Estimators with the conventions of scikit-learn (extra `sklearn`)."""

from pfgnn.errors import MissingPackageError

try:
    import sklearn  # noqa: F401
except ImportError:
    raise MissingPackageError(
        "scikit-learn is not installed, but the estimators need it: pip install scikit-learn; "
        "pfgnn.experiments.fit and `pfgnn fit` work without it"
    ) from None

from pfgnn.estimators.classifier import PFGNNClassifier
from pfgnn.estimators.regressor import PFGNNRegressor

__all__ = ["PFGNNClassifier", "PFGNNRegressor"]
