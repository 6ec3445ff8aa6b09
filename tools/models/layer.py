# SPDX-License-Identifier: Apache-2.0
"""The building blocks of the tables of layers."""
from typing import Callable, NamedTuple


class Layer(NamedTuple):
    """Multiplications of one sample (any unit that is the same in a model), and gradients by name and shape."""
    flops: float
    gradients: list


class Model(NamedTuple):
    name: str
    source: str
    layers: Callable


def dense(name, inputs, outputs, times=1, bias=True):
    """A matrix product, done `times` times for a sample."""
    gradients = [(f"{name}.weight", (outputs, inputs))] + ([(f"{name}.bias", (outputs,))] if bias else [])
    return Layer(inputs * outputs * times, gradients)


def convolution(name, inputs, outputs, kernel, side, bias=True):
    """A square convolution whose output is `side` elements wide and high."""
    layer = dense(name, inputs, outputs, kernel * kernel * side * side, bias)
    weight = (f"{name}.weight", (outputs, inputs, kernel, kernel))
    return Layer(layer.flops, [weight, *layer.gradients[1:]])


def normalization(name, width, times=1):
    """Scale and shift of batch or layer normalization: little work."""
    return Layer(4 * width * times, [(f"{name}.weight", (width,)), (f"{name}.bias", (width,))])
