# SPDX-License-Identifier: Apache-2.0
"""Results as the tables and pictures of docs/reproduction.md."""

import chart
import published

LABELS = {"vgg19": "VGG19", "bert_base": "BERT-base", "bert_large": "BERT-large", "resnet50": "ResNet50",
          "transformer": "Transformer", "ugatit": "UGATIT", "ugatit_light": "UGATIT light", "lstm": "LSTM"}  # fmt: skip


def number(value):
    return f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def verdict(one):
    return "yes" if one.within else "**no**"


def throughput(results):
    yield "| model | system | published | simulated | ratio | within 10 % |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in results:
        yield (f"| {LABELS[one.model]} | {one.system} | {number(one.published)} | {number(one.simulated)} | "
               f"{one.ratio:.3f} | {verdict(one)} |")  # fmt: skip


def breakdown(results):
    yield "| model | with | published, ms | simulated, ms | ratio | within 15 % |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in results:
        yield (f"| {LABELS[one.model]} | {one.system} | {1000 * one.published:.0f} | {1000 * one.simulated:.0f} | "
               f"{one.ratio:.2f} | {verdict(one)} |")  # fmt: skip


def summary(results, breakdowns):
    yield "| | rows | within the bound | median distance | largest |"
    yield "| --- | --- | --- | --- | --- |"
    systems = dict.fromkeys(one.system for one in results)
    parts = [(system, [one for one in results if one.system == system]) for system in systems]
    for name, rows in [*parts, ("all throughputs", results), ("breakdown", breakdowns)]:
        distances = sorted(abs(one.ratio - 1) for one in rows)
        within = sum(one.within for one in rows)
        yield (f"| {name} | {len(rows)} | {within} | {100 * distances[len(distances) // 2]:.0f} % | "
               f"{100 * distances[-1]:.0f} % |")  # fmt: skip


def otherwise(rows):
    yield "| if instead | rows it concerns | within 10 %, then | as assumed |"
    yield "| --- | --- | --- | --- |"
    for words, count, within, usual in rows:
        yield f"| {words} | {count} | {within} | {usual} |"


def plans(comparisons):
    yield "| model | training, ms | ours, ms | SeCoPa's, ms | ours is faster by | SeCoPa's, helped, ms |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in comparisons:
        yield (f"| {LABELS[one.model]} | {1000 * one.training:.1f} | {1000 * one.ours:.1f} | {1000 * one.secopa:.1f} | "
               f"{100 * one.gain:.1f} % | {1000 * one.helped:.1f} |")  # fmt: skip
    better = sum(one.secopa >= 1.05 * one.ours for one in comparisons)
    helped = sum(one.helped >= 1.05 * one.ours for one in comparisons)
    worse = sum(min(one.secopa, one.helped) < one.ours for one in comparisons)
    yield ""
    count = f"{better} of {len(comparisons)} models"
    yield f"Ours is at least 5 % faster than SeCoPa's on {count}, than the helped one on {helped}."
    yield f"It is slower than one of them on {worse}."


def throughput_picture(testbed, results):
    rows = [chart.Row(LABELS[one.model], one.system, 100 * one.published / one.linear, 100 * one.simulated / one.linear,
                      one.within) for one in results]  # fmt: skip
    title = f"Throughput in percent of linear: {published.TESTBEDS[testbed].name}"
    return chart.bars(title, rows, 110, "{:.0f} %", published.BOUND)


def breakdown_picture(results):
    rows = [chart.Row(LABELS[one.model], one.system, 1000 * one.published, 1000 * one.simulated, one.within)
            for one in results]  # fmt: skip
    return chart.bars("Synchronization: 16 nodes of 2 GTX 1080 Ti", rows, 800, "{:.0f} ms", published.BREAKDOWN_BOUND)
