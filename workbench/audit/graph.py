"""The graph of a model's call in training: its operations, with those of the functions in it."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from workbench.layers import all_layers, floating, watched

HALF = tf.float16.as_datatype_enum
# Operations that hand a value on: a small one stays small behind them.
PASSING = frozenset(
    ("Identity", "Cast", "Reshape", "ExpandDims", "BroadcastTo", "Squeeze", "StopGradient", "Sqrt")
)


class Traced(NamedTuple):
    """A traced call: its graphs, and the type that each layer by name gave (None: not called).

    ``outputs`` is what the model gave, one tensor or a structure.
    """

    graphs: list[Graph]
    output_dtypes: dict[str, str]
    output_dtype: tf.DType
    loss_dtypes: list[tf.DType]
    outputs: Any


class Graph:
    """The operations of one graph or function, by name, with who takes what they give."""

    def __init__(self, nodes: Iterator[tf.compat.v1.NodeDef]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.consumers: dict[str, list[tuple[tf.compat.v1.NodeDef, int]]] = {}
        for node in self.nodes.values():
            for index, name in enumerate(self.inputs(node)):
                self.consumers.setdefault(name, []).append((node, index))

    @staticmethod
    def inputs(node: tf.compat.v1.NodeDef) -> list[str]:
        """Return the names of the operations whose values ``node`` takes."""
        return [name.partition(":")[0] for name in node.input if not name.startswith("^")]

    def constant(self, name: str) -> np.ndarray | None:
        """Return the value of ``name`` where it is a constant, cast or reshaped, else None."""
        node = self.nodes.get(name)
        if node is None:
            return None
        if node.op == "Const":
            return tf.make_ndarray(node.attr["value"].tensor)
        if node.op in ("Identity", "Cast", "ExpandDims", "Reshape") and node.input:
            value = self.constant(self.inputs(node)[0])
            if value is not None and node.op == "Cast":
                to = tf.dtypes.as_dtype(node.attr["DstT"].type)
                # What overflows is the fault of another check.
                with np.errstate(over="ignore"):
                    return value.astype(to.as_numpy_dtype)
            return value
        return None

    def shape(self, source: str) -> list[int] | None:
        """Return the sizes (-1: not known) of ``source``, an input as an operation names it.

        None where the graph does not tell. It is written ``name:number``, in a function
        ``name:output:number``.
        """
        name, *output = source.split(":")
        node = self.nodes.get(name)
        if node is None or "_output_shapes" not in node.attr:
            return None
        if len(output) == 2:
            known = op_def_registry.get(node.op)
            # The number counts within one named output: only behind the first is it a position.
            if known is None or known.output_arg[0].name != output[0]:
                return None
        number = int(output[-1]) if output else 0
        shapes = node.attr["_output_shapes"].list.shape
        if number >= len(shapes) or shapes[number].unknown_rank:
            return None
        return [dimension.size for dimension in shapes[number].dim]

    def reaches(self, node: tf.compat.v1.NodeDef, ends: dict[str, int | None]) -> str | None:
        """Return the kind of the operation of ``ends`` that ``node``'s value reaches, or None.

        ``ends`` are kinds with the input that counts, None for any. Through operations that hand
        a value on.
        """
        seen, waiting = {node.name}, [node]
        while waiting:
            for consumer, index in self.consumers.get(waiting.pop().name, ()):
                passes = consumer.op in PASSING or self._is_positive_power(consumer)
                if consumer.op in ends and ends[consumer.op] in (None, index) and not passes:
                    return consumer.op
                if passes and consumer.name not in seen:
                    seen.add(consumer.name)
                    waiting.append(consumer)
        return None

    def _is_positive_power(self, node: tf.compat.v1.NodeDef) -> bool:
        if node.op != "Pow":
            return False
        exponent = self.constant(self.inputs(node)[1])
        return exponent is not None and bool((exponent > 0).all())


def trace(model: tf.keras.Model, shape: tuple[int, ...]) -> Traced:
    """Trace ``model`` on a batch of examples of ``shape``, in training.

    Whatever its layers raise passes through.
    """
    output_dtypes: dict[str, str] = {}

    def note(layer: tf.keras.layers.Layer, call: Any, arguments: Any, named: Any) -> Any:
        given = call(*arguments, **named)
        for tensor in floating(given)[:1]:
            output_dtypes[layer.name] = tensor.dtype.name
        return given

    losses: list[tf.DType] = []

    def call(images: tf.Tensor) -> tf.Tensor:
        outputs = model(images, training=True)
        losses.extend(loss.dtype for loss in model.losses if tf.is_tensor(loss))
        return outputs

    dtype = model.inputs[0].dtype if model.inputs else tf.float32
    layers = [layer for layer in all_layers(model) if layer is not model]
    with watched(layers, note):
        concrete = tf.function(call).get_concrete_function(tf.TensorSpec((None, *shape), dtype))
    definition = concrete.graph.as_graph_def(add_shapes=True)
    graphs = [Graph(definition.node)]
    graphs += [Graph(function.node_def) for function in definition.library.function]
    output = floating(concrete.structured_outputs)
    dtype = output[0].dtype if output else tf.float32
    return Traced(graphs, output_dtypes, dtype, losses, concrete.structured_outputs)


def is_half(node: tf.compat.v1.NodeDef) -> bool:
    """Tell whether ``node`` computes in float16."""
    return any(node.attr[name].type == HALF for name in ("T", "dtype") if name in node.attr)


def layer_of(node_name: str, names: set[str]) -> str | None:
    """Return the innermost of the layers ``names`` in whose scope an operation is, or None."""
    scopes = [scope for scope in node_name.split("/") if scope in names]
    return scopes[-1] if scopes else None
