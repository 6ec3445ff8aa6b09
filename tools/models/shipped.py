# SPDX-License-Identifier: Apache-2.0
"""The seconds of one training step on one device, and where they are from, for what examples/models has."""

V100 = "on a V100 (Bai et al., SOSP 2021: linear throughput of 128)"
GTX = "on a GTX 1080 Ti (Bai et al., SOSP 2021: linear throughput of 32)"
H100 = "6 operations a parameter and word, 40 % of an H100's 989 Tflop/s in bfloat16"

STEPS = {
    "vgg19": (0.155, f"step: 32 images at 206.5 a second {V100}"),
    "resnet50": (0.1953, f"step: 64 images at 327.7 a second {V100}"),
    "ugatit": (0.9278, f"step: 2 images, estimated, at 2.156 a second {V100}"),
    "bert_base": (0.4563, f"step: 32 sequences at 8976 words a second {GTX}"),
    "bert_large": (0.787, f"step: 32 sequences at 5202 words a second {V100}"),
    "transformer": (0.1178, f"step: 2048 words, estimated, at 17391 a second {V100}"),
    "lstm": (0.234, f"step: 80 sequences (a script of its authors) at 341.8 a second {V100}"),
    "decoder_1b3": (0.327, f"step: 8 sequences, {H100}"),
    "decoder_8b": (0.998, f"step: 1 sequence, {H100}"),
}
