"""Compiles every kernel for a GPU without having one; prints their names and those that no call reached.

It is a separate program, because Triton decides at import whether to interpret kernels.
"""

import importlib
import json
import pkgutil
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

import pfgnn.ops.triton
from pfgnn.ops import use
from pfgnn.ops.batch_norm import BatchNorming, activate_batch
from pfgnn.ops.candidates import choose, smooth_noise
from pfgnn.ops.distance import distances
from pfgnn.ops.draw import draw_vertex
from pfgnn.ops.dropout import dropout
from pfgnn.ops.embedding import add_look_up
from pfgnn.ops.exchange import listen, tell
from pfgnn.ops.gin import GINWeights, Maps, Particles, refine_gin
from pfgnn.ops.graph_norm import Norming, activate_graphs
from pfgnn.ops.hashing import fold
from pfgnn.ops.messages import sum_messages
from pfgnn.ops.mlp import hidden_mean, hidden_score, two_layers
from pfgnn.ops.particles import add_to_vertices, average_particles, pick_vertices, select_particles
from pfgnn.ops.pna import After, Weights, pna
from pfgnn.ops.segments import Segments, make_segments, segment_max, segment_mean, sum_neighbours
from pfgnn.ops.weights import NoiseKey, bound, normalise, resample

N, G, E, D, TOWERS = 18, 4, 23, 12, 3


class NoDevice:
    """The functions of a driver that a launch calls."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


def apart(values: Tensor) -> Tensor:
    """The same values with gaps between them in memory, as a slice has."""
    return torch.stack([values, values], -1)[..., 0]


def backward(function: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Call the function and its backward with tensors that have gaps. Nothing is really computed."""
    leaves = [apart(value.detach()).requires_grad_() for value in inputs]
    out = function(*leaves)
    out.backward(apart(torch.ones_like(out)))


def all_parts(parts: tuple[Tensor | None, ...]) -> Tensor:
    """Several results as one flat tensor."""
    return torch.cat([part.flatten() for part in parts if part is not None])


def call_all(K: int, dtype: torch.dtype) -> None:
    """Call every kernel with K particles."""

    def some(*shape: int) -> Tensor:
        return apart(torch.zeros(shape, dtype=dtype))

    def parameter(*shape: int) -> Tensor:  # a parameter or a buffer never has gaps
        return torch.zeros(shape, dtype=dtype)

    def whole(*shape: int) -> Tensor:
        return apart(torch.zeros(shape, dtype=torch.int64))

    index = torch.zeros(E, dtype=torch.int64)
    sources, targets = make_segments(index, N, False, other=index), make_segments(index, N, ordered=True)
    nodes: Segments = make_segments(torch.arange(N) * G // N, G, ordered=True)
    keys, k, node_keys = whole(G), apart(torch.arange(K)), apart(torch.arange(N))
    x, w = some(N, K, D), some(G, K)
    long = make_segments(torch.zeros(2048, dtype=torch.int64), 1, ordered=True)  # reduced in parts
    for reduce in (segment_mean, segment_max):
        backward(lambda v, reduce=reduce: reduce(v, sources), some(E, K, D))
        backward(lambda v, reduce=reduce: reduce(v, long), some(2048, K))
    backward(lambda x, own: sum_neighbours(x, own, sources, targets), x, some())
    backward(lambda x, e, own: sum_messages(x, e, own, sources, targets), x, some(E, D), some())
    for relu in (True, False):
        norm = partial(activate_graphs, nodes=nodes, relu=relu)
        for near in (None, some(N, K)):
            of = partial(norm, near=near)
            backward(lambda h, a, b, c, norm=of: norm(h, x, Norming(a, b, c, 1e-2, 30.0)), x, *some(3, D))
    for training in (True, False):
        running = parameter(D), parameter(D), 0.1, 1e-2, 30.0, training
        norm = partial(activate_batch, nodes=nodes, padding=1, relu=training)
        backward(lambda h, a, b, r=running, norm=norm: norm(h, x, BatchNorming(a, b, *r)), x, *some(2, D))
    F = D // TOWERS
    maps = some(TOWERS, 3 * F, F), some(TOWERS, 2 * F), some(D, D), some(TOWERS, 4 * F, 3 * F), some(D, D), some(D)
    backward(lambda x, e, *maps: pna(x, e, Weights(*maps), 0.7, sources, targets), x, some(E, D), *maps)
    without = Weights(maps[0], maps[1], None, *maps[3:])
    after = After(Norming(some(D), some(D), some(D), 1e-2, 30.0), nodes, residual=True)
    backward(lambda x: pna(x, None, without, 0.7, sources, targets, after), x)
    backward(hidden_score, x, some(D, D), some(D), some(D), some(1))
    backward(lambda x, w, b: hidden_mean(x, w, b, nodes), x, some(D, D), some(D))
    backward(two_layers, x, some(D, D), some(D), some(D, D), some(D))
    noise_key = NoiseKey(keys, 1, 1)
    backward(
        lambda scores: draw_vertex(scores, noise_key, k, 0, node_keys, nodes)[1],
        torch.zeros(N, K),
    )
    backward(lambda x: dropout(x, 0.5, noise_key, k, 0, node_keys, nodes), x)
    for systematic in (True, False):
        backward(lambda w, systematic=systematic: resample(w, 0.5, systematic, noise_key)[1], torch.zeros(G, K))
    backward(normalise, torch.zeros(G, K))
    backward(lambda x: bound(x, 5.0), torch.zeros(G, K))
    fold(keys[:, None], k)
    fold(keys, 5)
    ancestors, vertices = whole(G, K), whole(G, K, 1)
    valid = apart(vertices >= 0)
    backward(lambda H: select_particles(H, ancestors, nodes), x)
    backward(lambda H, w: average_particles(H, w, nodes), x, w)
    backward(lambda H: pick_vertices(H, vertices, nodes), x)
    backward(lambda H, w: all_parts(listen(H, w, vertices, nodes, True, True)), x, w)
    backward(lambda y, a, b: tell(y, a, b, nodes), x, some(N, D), some(G, K, D))
    backward(lambda H, c: add_to_vertices(H, c, vertices, valid, nodes, 30.0), x, some(G, K, 1, D))
    backward(lambda H, table: add_look_up(H, table, whole(N, K)), x, some(4, D))
    smooth_noise(noise_key, node_keys, 3, sources, targets, nodes)
    choose(apart(torch.ones(N, dtype=torch.float64)), node_keys, noise_key, nodes, K)
    distances(vertices, valid, 3, sources, targets, nodes)
    particles = Particles(sources, targets, nodes, 1, w, vertices[..., 0])
    for edges in (True, False):
        layer = gin_layer(edges, parameter)
        backward(lambda x, layer=layer: refine_gin(x, some(E, D) if layer.edge else None, [layer], particles), x)


def gin_layer(edges: bool, some: Callable[..., Tensor]) -> GINWeights:
    """A layer of GINE with an exchange of both, or of GIN without one."""

    def maps(hidden: int) -> Maps:
        return Maps(some(hidden, D), some(hidden), some(D, hidden), some(D))

    norms = [BatchNorming(some(D), some(D), some(D), some(D), 0.1, 1e-2, 30.0, edges) for _ in range(2)]
    edge = (some(D, D), some(D)) if edges else None
    exchange = [maps(D) if edges else None for _ in range(2)]
    return GINWeights(some(), maps(D), norms[0], maps(2 * D), norms[1], edge, *exchange)


def main() -> None:
    """Compile all kernels, and print which were compiled and which were not."""
    driver.set_active(NoDevice())
    compiled: set[str] = set()
    keeps_nan: set[str] = set()
    gaps: set[str] = set()  # kernels that got a tensor with gaps, and were not told its stride
    run = JITFunction.run

    def compile_only(self: JITFunction, *arguments: object, grid: object, warmup: bool, **options: object) -> object:
        compiled.add(self.fn.__name__)
        tensors = [value for value in arguments if isinstance(value, Tensor)]
        if not all(tensor.is_contiguous() for tensor in tensors) and not any(
            "stride" in name for name in self.arg_names
        ):
            gaps.add(self.fn.__name__)
        found = run(self, *arguments, grid=grid, warmup=True, **options)
        if "max.NaN.f32" in found.asm["ptx"]:
            keeps_nan.add(self.fn.__name__)
        return found

    JITFunction.run = compile_only
    with use("triton"):
        call_all(1, torch.float32)  # Triton treats an argument of 1 as a constant
        call_all(3, torch.float16)
    found = pkgutil.iter_modules(pfgnn.ops.triton.__path__)
    modules = [importlib.import_module(f"pfgnn.ops.triton.{module.name}") for module in found]
    named = {name: value for module in modules for name, value in vars(module).items()}
    sources = {name: value.src for name, value in named.items() if isinstance(value, JITFunction)}
    inner = {name for name in sources if any(f"{name}(" in src for other, src in sources.items() if other != name)}
    missed = set(sources) - inner - compiled
    sets = {"compiled": compiled, "missed": missed, "keeps_nan": keeps_nan, "gaps": gaps}
    print(json.dumps({name: sorted(names) for name, names in sets.items()}))


if __name__ == "__main__":
    main()
