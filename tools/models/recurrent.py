# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: all layers are one call of the device's library, whose gradients come together at its end."""
from layer import Layer, Model, dense


def lstm(width=1500, depth=2, words=33278, length=35):
    parts = [dense(f"lstm.{i}.{part}", width, 4 * width, length) for i in range(depth) for part in ("input", "hidden")]
    # The output shares its matrix with the embedding.
    return [Layer(0, [("embedding", (words, width))]),
            Layer(sum(part.flops for part in parts), [gradient for part in parts for gradient in part.gradients]),
            Layer(width * words * length, [("head.bias", (words,))])]


MODELS = {
    "lstm": Model("LSTM", "PyTorch's example word_language_model on WikiText-2: two layers of 1500 units, tied", lstm),
}
