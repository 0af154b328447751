"""Pack a finished run for others: what a prediction needs, in a folder with a model card."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pfgnn.data.catalogue import ENTRIES
from pfgnn.errors import InputError
from pfgnn.experiments.calibration import CALIBRATION_FILE
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping, read_config, write_config
from pfgnn.experiments.model_folder import read_facts
from pfgnn.experiments.pretrained import CARD
from pfgnn.experiments.run_directory import CONFIG, RECORD, read_record
from pfgnn.files import reading, write_json, write_text
from pfgnn.training import checkpoint_file as files
from pfgnn.training.checkpoint_file import Checkpoint

SAME = "The results are those of the stored weights. Another processor gives them up to rounding."
ROUNDED = (
    "The results are those of the weights before they were rounded to float16. With the stored weights they may "
    "differ a little."
)
KEPT = ("model.", "target.")  # tensors that a prediction needs; the state of the optimiser is left out


def pack_run(run: Path, folder: Path, *, licence: str, limits: str, half: bool = True) -> None:
    """Write what a prediction needs of a finished run, and a model card.

    Args:
        run: The run directory, or a model folder.
        folder: Folder to write. It must not exist. Its name is the name of the model.
        licence: Licence of the weights, for the card.
        limits: For what the model is not meant, for the card.
        half: Whether to store the parameters as float16. They are float32 again after loading.
    """
    if not licence.strip():
        raise InputError("licence must be a text for the card of the model, but it is empty")
    record = read_record(run)
    if folder.exists():
        raise InputError(f"{folder} must be a new folder, but it is there already")
    name = files.BEST if record["selected"] == "best" else files.LAST
    tensors, state = files.read_checkpoint(run / name)
    config = _without_path(read_config(run / CONFIG))
    mapping = config_mapping(config)
    kept = {key: _stored(key, tensor, half) for key, tensor in tensors.items() if key.startswith(KEPT)}
    with reading(run / name, "be the checkpoint of a run"):
        slim = {"run": state["run"], "identity": {**state["identity"], "config": mapping}}
    with reading(run / RECORD, "be the record of a run"):
        card = model_card(folder.name, record, config, licence, limits, "float16" if half else "float32")
    try:
        files.write_checkpoint(folder / name, Checkpoint(kept, slim))
        write_config(folder / CONFIG, config)
        if (run / CALIBRATION_FILE).exists():
            shutil.copyfile(run / CALIBRATION_FILE, folder / CALIBRATION_FILE)
        if (facts := read_facts(run)) is not None:
            replace(facts, source=Path(facts.source).name).write(folder)
        write_text(folder / CARD, card)
        write_json(folder / RECORD, {**record, "config": mapping})  # last, for it makes the folder a finished run
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def model_card(name: str, record: dict[str, Any], config: Config, licence: str, limits: str, stored: str) -> str:
    """A model card in Markdown: data, results, parameters, limits, licence.

    Args:
        name: Name of the model.
        record: Record of its run.
        config: Config of its run.
        licence: Licence of the weights.
        limits: For what the model is not meant.
        stored: The dtype of the stored parameters.
    """
    results = [f"{part} {of['metric']} {of['value']:.4g}" for part, of in record["results"].items()]
    model, data = config.model, config.data
    fold = "" if data.fold is None else f", fold {data.fold}"
    changed = "".join(f"; here with {key} = {value}" for key, value in data.options.items())
    about = ENTRIES.get(data.name)
    rows = {
        "data": f"{data.name}{fold}, checksum {record['data']}",
        **({} if about is None else {"what it holds": about.summary + changed, "from": about.citation}),
        "results": ", ".join(results) or "not tested",
        "parameters": f"{record['parameters']:,}, stored as {stored}",
        "model": f"{model.kind} on {model.backbone}, width {model.width}, T = {model.steps}, K = {model.particles}",
        "trained": f"{record['updates']} updates on {record['device']}, seed {record.get('seed')}",
        "made by": f"pfgnn {record.get('pfgnn')}, commit {record.get('commit')}",
        "limits": limits,
        "licence": licence,
    }
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    first = f"Trained on {data.name}{fold}; {rows['results']}."
    use = f"pfgnn predict {name} FILE   # new graphs"
    if about is not None:  # others do not have the data of a file
        use += f"\npfgnn evaluate {name}       # the results again"
    notes = f"{SAME if stored == 'float32' else ROUNDED} They hold for graphs like those of the training data."
    return f"# {name}\n\n{first}\n\n| | |\n|---|---|\n{table}\n\n{notes}\n\n```\n{use}\n```\n"


def _without_path(config: Config) -> Config:
    """The config without the folder of its data, which nobody else has."""
    file = config.data.file
    return config if file is None else replace(config, data=replace(config.data, name=file.name))


def _stored(name: str, tensor: Tensor, half: bool) -> Tensor:
    if not half or tensor.dtype != torch.float32 or not name.startswith("model."):
        return tensor
    stored = tensor.to(torch.float16)
    if not stored.isfinite().all():
        raise InputError(f"{name} must lie within the range of float16, but it does not; store it as float32 (--full)")
    return stored
