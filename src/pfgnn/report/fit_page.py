"""One HTML page about a fitted model. It needs no other file, no network and no script."""

from collections.abc import Callable
from pathlib import Path

from pfgnn.experiments.fit_baselines import make_baselines
from pfgnn.experiments.model_folder import TEST
from pfgnn.files import write_text
from pfgnn.report.fit_certainty_section import certainty_section
from pfgnn.report.fit_data_sections import data_section, settings_section
from pfgnn.report.fit_gather import gather_fitted, read_smiles
from pfgnn.report.fit_graph_section import graph_section
from pfgnn.report.fit_learning_section import learning_section
from pfgnn.report.fit_score_section import score_section
from pfgnn.report.fitted import Fitted
from pfgnn.report.html import element, page
from pfgnn.training.metrics_file import Status

PAGE = "report.html"


def write_fit_page(
    folder: Path, device: str = "auto", report: Callable[[Status], None] = lambda status: None
) -> Fitted:
    """Train simple models for comparison, and write the page of a model folder. Returns what it shows.

    Args:
        folder: Model folder of a finished fit.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        report: Called while the backbone alone is trained, with the status.
    """
    baselines = make_baselines(folder, read_smiles(folder), device, report) if (folder / TEST).exists() else []
    fitted = gather_fitted(folder, baselines, device)
    write_text(folder / PAGE, fit_page(fitted))
    return fitted


def fit_page(fitted: Fitted) -> str:
    """The page as HTML."""
    title = f"Model of {fitted.title}"
    sections = (score_section, learning_section, certainty_section, graph_section, data_section, settings_section)
    return page(title, [element("h1", title), *(part for section in sections for part in section(fitted))])
