# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: each layer reads the whole sequence before the next one's gradients are complete."""
from layer import Layer, Model, dense


def lstm(width=1500, depth=2, words=33278, length=35):
    layers = [Layer(0, [("embedding", (words, width))])]
    for i in range(depth):
        both = [dense(f"lstm.{i}.{part}", width, 4 * width, length) for part in ("input", "hidden")]
        layers.append(Layer(sum(part.flops for part in both), [g for part in both for g in part.gradients]))
    # The output shares its matrix with the embedding.
    return layers + [Layer(width * words * length, [("head.bias", (words,))])]


MODELS = {
    "lstm": Model("LSTM", "PyTorch's example word_language_model on WikiText-2: two layers of 1500 units, tied", lstm),
}
