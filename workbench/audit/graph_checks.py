"""What float16 breaks in the operations of a graph, whatever the layers' arguments say."""

from __future__ import annotations

import math
from typing import Iterator

import numpy as np
import tensorflow as tf

from workbench.audit.graph import Graph, Traced, is_half, layer_of
from workbench.audit.results import Finding
from workbench.float16 import SMALLEST_NORMAL

# Operations that a small constant is to keep away from 0, with the input where it stands.
NEED_MORE_THAN_ZERO = {
    "RealDiv": 1,
    "Div": 1,
    "Rsqrt": None,
    "Log": None,
    "Reciprocal": None,
    "Inv": None,
    "Pow": 0,
}
GUARDS = frozenset(("Add", "AddV2", "Sub", "Maximum", "BiasAdd"))
SOFTMAX = frozenset(
    (
        *("Softmax", "LogSoftmax", "SoftmaxCrossEntropyWithLogits"),
        "SparseSoftmaxCrossEntropyWithLogits",
    )
)
SUMS = frozenset(("Sum", "Mean", "Prod", "EuclideanNorm"))
# In float16 2048 + 1 = 2048: a sum of more ones than that is wrong.
LONG_SUM = 2048


def findings(traced: Traced, names: set[str], output_is_softmax: bool) -> list[Finding]:
    """Return what the operations show; ``names`` are those of the model's layers."""
    found = [
        finding
        for graph in traced.graphs
        for node in graph.nodes.values()
        for finding in _of_node(graph, node, names, output_is_softmax)
    ]
    # A graph and the function in it may show one fault twice.
    return list(dict.fromkeys(found))


def _of_node(
    graph: Graph, node: tf.compat.v1.NodeDef, names: set[str], output_is_softmax: bool
) -> Iterator[Finding]:
    if not is_half(node):
        return
    layer = layer_of(node.name, names)
    if node.op in GUARDS:
        yield from _guard(graph, node, layer)
    if node.op in SOFTMAX and not output_is_softmax:
        yield Finding(
            "softmax_float16",
            "warning",
            layer,
            f"{node.op} of float16 ({node.name})",
            "float16 has 11 bits: probabilities below 6e-8 become 0, and their sum is no longer 1.",
            "Give the layer dtype='float32', or cast its input: tf.cast(x, tf.float32).",
        )
    if node.op in SUMS:
        yield from _sum(graph, node, layer)


def _guard(graph: Graph, node: tf.compat.v1.NodeDef, layer: str | None) -> Iterator[Finding]:
    for name in graph.inputs(node):
        value = graph.constant(name)
        if value is None or value.size != 1 or value.dtype != np.float16:
            continue
        magnitude = abs(float(value.reshape(())))
        if magnitude >= SMALLEST_NORMAL:
            continue
        end = graph.reaches(node, NEED_MORE_THAN_ZERO)
        if end is None:
            continue
        vanished = magnitude == 0
        yield Finding(
            "epsilon_vanishes" if vanished else "epsilon_subnormal",
            "error" if vanished else "warning",
            layer,
            f"the constant of {node.name} is {magnitude:g} in float16, and {end} follows",
            "float16 rounds what is below 3e-8 to 0: nothing keeps the division from 0, and the "
            "result is NaN or infinite."
            if vanished
            else "Below 6.1e-5 float16 has few bits, and a device may take such a number for 0.",
            "Compute this in float32 (dtype='float32' for the layer, tf.cast for an operation), "
            "or take an epsilon of 1e-4 or more.",
        )


def _sum(graph: Graph, node: tf.compat.v1.NodeDef, layer: str | None) -> Iterator[Finding]:
    sizes = graph.shape(node.input[0])
    axes = graph.constant(graph.inputs(node)[1]) if len(graph.inputs(node)) > 1 else None
    if sizes is None or axes is None:
        return
    count = math.prod(max(1, sizes[axis]) for axis in np.ravel(axes))
    if count > LONG_SUM:
        yield Finding(
            "long_sum_float16",
            "warning",
            layer,
            f"{node.op} of {count} float16 numbers ({node.name})",
            "In float16 2048 + 1 is 2048, and a sum beyond 65504 is infinite.",
            "Cast before: tf.reduce_sum(tf.cast(x, tf.float32)), or dtype='float32' for the layer.",
        )
