"""What a built model puts out: the layer, the type and the function behind its output."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from workbench.layers import all_layers

# Operations that hand a value on as it is, save for its type.
PASSING = ("Identity", "Cast")

ACTIVATION_OF_OPERATION = {
    "Softmax": "softmax",
    "Sigmoid": "sigmoid",
    "MatMul": "linear",
    "BiasAdd": "linear",
}
ACTIVATION_OF_FUNCTION = {
    tf.keras.activations.softmax: "softmax",
    tf.keras.activations.sigmoid: "sigmoid",
    tf.keras.activations.linear: "linear",
    tf.nn.softmax: "softmax",
    tf.nn.sigmoid: "sigmoid",
}


class Output(NamedTuple):
    """The output of a model.

    ``activation`` is softmax, sigmoid, linear (of a layer with weights), other, or None where
    it cannot be told without looking at values.
    """

    layer_name: str
    dtype: tf.DType
    shape: tf.TensorShape
    activation: str | None

    @classmethod
    def of(cls, model: tf.keras.Model) -> Output:
        """Return the output of a built ``model``; a subclassed one is traced for it."""
        if not model.outputs:
            return _of_traced(model)
        (tensor,) = model.outputs
        return cls(
            _last_layer(model).name, tensor.dtype, tensor.shape, _activation(_last_layer(model))
        )


def _last_layer(model: tf.keras.Model) -> tf.keras.layers.Layer:
    """Return the layer whose call gave the output, inside nested models too."""
    layer = _producer(model.outputs[0])
    while isinstance(layer, tf.keras.Model) and layer.outputs:
        layer = _producer(layer.outputs[0])
    return layer


def _producer(tensor: Any) -> tf.keras.layers.Layer:
    # Keras keeps, with each tensor of a functional model, the layer that it came from.
    return tensor._keras_history.layer


def _activation(layer: tf.keras.layers.Layer) -> str | None:
    if isinstance(layer, tf.keras.layers.Softmax):
        return "softmax"
    if isinstance(layer, tf.keras.layers.Dense):
        return ACTIVATION_OF_FUNCTION.get(layer.activation, "other")
    if isinstance(layer, tf.keras.layers.Activation):
        activation = ACTIVATION_OF_FUNCTION.get(layer.activation, "other")
        # A linear Activation only changes the type of what the layer before it gave.
        return None if activation == "linear" else activation
    return None


def _of_traced(model: tf.keras.Model) -> Output:
    """Read the output of a subclassed model from the graph of its call."""
    # The input that the model was built with: its specification, without training=....
    (spec, *_), _ = model.save_spec()
    graph = tf.function(lambda inputs: model(inputs, training=False)).get_concrete_function(spec)
    (tensor,) = graph.outputs
    operation = tensor.op
    while operation.type in PASSING:
        operation = operation.inputs[0].op
    # The name of an operation begins with those of the layers around it.
    names = {layer.name for layer in all_layers(model)}
    scopes = [scope for scope in operation.name.split("/") if scope in names]
    return Output(
        scopes[-1] if scopes else model.name,
        tensor.dtype,
        tensor.shape,
        ACTIVATION_OF_OPERATION.get(operation.type),
    )
