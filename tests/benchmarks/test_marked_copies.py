"""The baseline of our method is our method: with the same weights and all vertices it predicts the same."""

import re
from dataclasses import replace

import numpy as np
import torch
from benchmarks.marked_copies import MarkedCopies
from benchmarks.shapes import OURS, molecules
from benchmarks.steps import Effort, count_parameters, prepare

from pfgnn.data.loader import Resident
from pfgnn.experiments.build import build_model, describe

NAMES = (
    (r"refine\.0\.backbone\.", "before."),
    (r"refine\.1\.backbone\.", "after."),
    (r"refine\.1\.exchange\.(\d+)\.", r"after.\1."),
    (r"convs\.(\d+)\.mlp", r"\1.conv.nn"),
    (r"convs\.(\d+)\.edge", r"\1.conv.lin"),
    (r"convs\.(\d+)\.eps", r"\1.conv.eps"),
    (r"\bnorms\.(\d+)", r"\1.norm"),
    (r"hidden_norms\.(\d+)", r"\1.last_norm"),
    (r"hidden\.(\d+)", r"\1.hidden"),
    (r"norm\.scale", "norm.weight"),
    (r"norm\.shift", "norm.bias"),
    (r"individualise\.tables", "table.weight"),
    (r"individualise\.mlp", "mark"),
    (r"readout\.", ""),
)


def test_it_predicts_what_our_method_predicts() -> None:
    dataset = molecules(40)
    graphs = np.flatnonzero(dataset.node_counts == 22)
    assert len(graphs) > 1
    inputs = describe(dataset, graphs)
    config = replace(OURS.model, width=8, step_layers=2, particles=22, scale_sums=False)
    ours = build_model(config, inputs, 0).eval()
    theirs = MarkedCopies(config, inputs, 22).eval()
    weights = {}
    for name, parameter in ours.named_parameters():
        for pattern, word in NAMES:
            name = re.sub(pattern, word, name)
        weights[name] = parameter.detach().view_as(theirs.get_parameter(name))
    assert weights.keys() == {name for name, _ in theirs.named_parameters()}
    theirs.load_state_dict(weights, strict=False)
    batch = Resident(dataset).collate(graphs.tolist())
    prediction = ours(batch).prediction
    assert prediction.std() > 1e-3
    torch.testing.assert_close(theirs(batch), prediction, rtol=0, atol=1e-5)


def test_a_step_of_both_changes_the_weights() -> None:
    with prepare(OURS, "cpu", Effort(batches=1, divide=32)) as work:
        step = work.baseline()
        before = next(step.model.parameters()).clone()
        step(work.batches[0])
        assert not torch.equal(before, next(step.model.parameters()))
        assert count_parameters(step.model) == work.parameters()
        work.update(work.padded[0])
