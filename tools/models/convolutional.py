# SPDX-License-Identifier: Apache-2.0
"""Networks of convolutions, for images of 224 (classifiers) and 256 (UGATIT) elements a side."""
from layer import Model, convolution, dense, normalization


def vgg19():
    blocks = [(64, 2, 224), (128, 2, 112), (256, 4, 56), (512, 4, 28), (512, 4, 14)]
    layers, inputs = [], 3
    for block, (width, repeats, side) in enumerate(blocks, 1):
        for i in range(1, repeats + 1):
            layers.append(convolution(f"conv{block}_{i}", inputs, width, 3, side))
            inputs = width
    return layers + [dense("fc6", 512 * 7 * 7, 4096), dense("fc7", 4096, 4096), dense("fc8", 4096, 1000)]


def resnet50():
    layers = [convolution("conv1", 3, 64, 7, 112, bias=False), normalization("bn1", 64, 112 * 112)]
    inputs = 64
    for stage, (width, repeats, side) in enumerate([(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)], 1):
        for block in range(repeats):
            name = f"layer{stage}.{block}"
            # The stride is in the 3x3 convolution: the first one of a later stage still sees the wider image.
            wide = side * 2 if stage > 1 and block == 0 else side
            for i, (a, b, kernel, out) in enumerate([(inputs, width, 1, wide), (width, width, 3, side),
                                                     (width, 4 * width, 1, side)], 1):
                layers.append(convolution(f"{name}.conv{i}", a, b, kernel, out, bias=False))
                layers.append(normalization(f"{name}.bn{i}", b, out * out))
            if block == 0:
                layers.append(convolution(f"{name}.downsample.0", inputs, 4 * width, 1, side, bias=False))
                layers.append(normalization(f"{name}.downsample.1", 4 * width, side * side))
            inputs = 4 * width
    return layers + [dense("fc", 2048, 1000)]


def ugatit_generator(name, light=False):
    layers = [convolution(f"{name}.in", 3, 64, 7, 256, bias=False),
              convolution(f"{name}.down1", 64, 128, 3, 128, bias=False),
              convolution(f"{name}.down2", 128, 256, 3, 64, bias=False)]
    for block in range(4):
        layers += [convolution(f"{name}.encode{block}.{i}", 256, 256, 3, 64, bias=False) for i in (1, 2)]
    layers += [dense(f"{name}.gap", 256, 1, bias=False), dense(f"{name}.gmp", 256, 1, bias=False),
               convolution(f"{name}.attention", 512, 256, 1, 64),
               # Fed with the whole image: this one product is why the model is so large. The light one sees its mean.
               dense(f"{name}.fc1", 256 if light else 64 * 64 * 256, 256, bias=False),
               dense(f"{name}.fc2", 256, 256, bias=False), dense(f"{name}.gamma", 256, 256, bias=False),
               dense(f"{name}.beta", 256, 256, bias=False)]
    for block in range(4):
        layers += [convolution(f"{name}.decode{block}.{i}", 256, 256, 3, 64, bias=False) for i in (1, 2)]
    return layers + [convolution(f"{name}.up1", 256, 128, 3, 128, bias=False),
                     convolution(f"{name}.up2", 128, 64, 3, 256, bias=False),
                     convolution(f"{name}.out", 64, 3, 7, 256, bias=False)]


def ugatit_discriminator(name, depth):
    layers, inputs, side = [], 3, 128
    for i in range(depth):
        layers.append(convolution(f"{name}.conv{i}", inputs, 64 << i, 4, side))
        inputs, side = 64 << i, max(side // 2, 1)
    return layers + [dense(f"{name}.gap", inputs, 1, bias=False), dense(f"{name}.gmp", inputs, 1, bias=False),
                     convolution(f"{name}.attention", 2 * inputs, inputs, 1, side),
                     convolution(f"{name}.out", inputs, 1, 4, side, bias=False)]


def ugatit_discriminators():
    return [layer for side in ("A", "B") for which, depth in (("Local", 4), ("Global", 6))
            for layer in ugatit_discriminator(f"dis{which}{side}", depth)]


def ugatit(light=False):
    return ugatit_generator("genA", light) + ugatit_generator("genB", light) + ugatit_discriminators()


MODELS = {
    "vgg19": Model("VGG19", "Simonyan and Zisserman, ICLR 2015, configuration E", vgg19),
    "resnet50": Model("ResNet50", "He et al., CVPR 2016, with the stride in the 3x3 convolutions", resnet50),
    "ugatit": Model("UGATIT", "Kim et al., ICLR 2020: two generators and four discriminators", ugatit),
    "ugatit_light": Model("UGATIT light", "Kim et al., ICLR 2020, its light version", lambda: ugatit(light=True)),
}
