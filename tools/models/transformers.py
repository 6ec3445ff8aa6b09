# SPDX-License-Identifier: Apache-2.0
"""Attention. Work is that of one sequence; of an embedding it is nothing, of attention itself length * width a word."""
from layer import Layer, Model, dense, normalization


def attention(name, width, length, keys=None, bias=True):
    """Query, key, value and output; `keys`: the width of keys and values where heads share them."""
    keys = keys or width
    return [dense(f"{name}.q", width, width, length, bias), dense(f"{name}.k", width, keys, length, bias),
            dense(f"{name}.v", width, keys, length, bias), Layer(2 * length * length * width, []),
            dense(f"{name}.o", width, width, length, bias)]


def bert(depth, width, length=128, words=30522):
    tables = [("word", words), ("position", 512), ("type", 2)]
    layers = [Layer(0, [(f"embeddings.{name}", (rows, width))]) for name, rows in tables]
    layers.append(normalization("embeddings.norm", width, length))
    for i in range(depth):
        name = f"encoder.{i}"
        layers += attention(f"{name}.attention", width, length) + [normalization(f"{name}.norm1", width, length)]
        layers += [dense(f"{name}.up", width, 4 * width, length), dense(f"{name}.down", 4 * width, width, length),
                   normalization(f"{name}.norm2", width, length)]
    # The prediction of masked words shares its matrix with the embedding.
    return layers + [dense("pooler", width, width), dense("head.transform", width, width, length),
                     normalization("head.norm", width, length),
                     Layer(width * words * length, [("head.bias", (words,))]), dense("head.next", width, 2)]


def translator(width=512, depth=6, length=32, words=33708):
    layers = [Layer(0, [("embedding", (words, width))])]
    for side in ("encoder", "decoder"):
        for i in range(depth):
            name = f"{side}.{i}"
            layers += attention(f"{name}.self", width, length, bias=False)
            layers += [normalization(f"{name}.norm1", width, length)]
            if side == "decoder":
                layers += attention(f"{name}.cross", width, length, bias=False)
                layers += [normalization(f"{name}.norm2", width, length)]
            layers += [dense(f"{name}.up", width, 4 * width, length), dense(f"{name}.down", 4 * width, width, length),
                       normalization(f"{name}.norm3", width, length)]
    return layers + [Layer(width * words * length, [])]


def decoder(depth, width, inner, words, length, keys=None, gated=False, tied=True):
    """A language model: with gated, three matrices in the feed-forward part and neither biases nor shifts."""
    layers = [Layer(0, [("embedding", (words, width))])]
    if not gated:
        layers.append(Layer(0, [("position", (length, width))]))
    for i in range(depth):
        name = f"layer.{i}"
        norms = [Layer(4 * width * length, [(f"{name}.norm{k}.weight", (width,))]) if gated else
                 normalization(f"{name}.norm{k}", width, length) for k in (1, 2)]
        parts = ("gate", "up") if gated else ("up",)
        up = [dense(f"{name}.{part}", width, inner, length, not gated) for part in parts]
        layers += [norms[0], *attention(f"{name}.attention", width, length, keys, not gated), norms[1], *up,
                   dense(f"{name}.down", inner, width, length, not gated)]
    layers.append(Layer(4 * width * length, [("norm.weight", (width,))] + ([] if gated else [("norm.bias", (width,))])))
    return layers + [Layer(width * words * length, [] if tied else [("head", (words, width))])]


MODELS = {
    "bert_base": Model("BERT-base", "Devlin et al., NAACL 2019; sequences of 128", lambda: bert(12, 768)),
    "bert_large": Model("BERT-large", "Devlin et al., NAACL 2019; sequences of 128", lambda: bert(24, 1024)),
    "transformer": Model("Transformer", "Vaswani et al., NeurIPS 2017, base model", translator),
    "decoder_1b3": Model("decoder of 1.3 billion", "Brown et al., NeurIPS 2020, table 2.1: GPT-3 XL; sequences of 2048",
                         lambda: decoder(24, 2048, 8192, 50257, 2048)),
    "decoder_8b": Model("decoder of 8 billion", "Llama 3 herd of models, 2024, table 3; sequences of 8192",
                        lambda: decoder(32, 4096, 14336, 128256, 8192, keys=1024, gated=True, tied=False)),
}
