import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the benchmark files, named by PFGNN_DATA."""
    folder = os.environ.get("PFGNN_DATA")
    if folder is None or not Path(folder).is_dir():
        pytest.skip("PFGNN_DATA does not name the folder with the benchmark files")
    return Path(folder)
