// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/codecs/pairs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <typeinfo>
#include <utility>

#include "base/check.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/written.h"
#include "tools/bench_codec.h"

namespace casync::tools {
namespace {

constexpr std::size_t kOperations = 3;  // encode, decode, merge
constexpr int kRounds = 9;

using Seconds = std::array<double, kOperations>;

/// The same codec twice. `written` is null where nobody wrote it by hand.
struct Pair {
  std::string name;
  std::unique_ptr<compll::Codec> written, generated;
};

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const compll::GeneratedCodec* functions : compll::written_codecs()) {
    auto generated = compll::make_generated_codec(*functions);
    auto chosen = compll::make_codec(functions->declares.name);
    CASYNC_CHECK(generated.is_ok() && chosen.is_ok());
    // make_codec prefers what is written by hand: then it is of another class.
    const bool same = typeid(**generated) == typeid(**chosen);
    pairs.push_back({functions->declares.name, same ? nullptr : std::move(*chosen), std::move(*generated)});
  }
  return pairs;
}

Seconds measure(const compll::Codec& codec, const CodecBenchOptions& options) {
  const CodecBenchResult result = measure_codec(codec, options);
  return {result.encode.seconds, result.decode.seconds, result.merge.seconds};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// One after the other in each round, because others share the machine; what disturbs a round disturbs both.
void print_pair(const Pair& pair, const CodecBenchOptions& options) {
  std::array<std::vector<double>, kOperations> ratios;
  Seconds written{}, generated{};
  for (int round = 0; round < kRounds; ++round) {
    const Seconds by_hand = measure(*pair.written, options), by_compiler = measure(*pair.generated, options);
    for (std::size_t i = 0; i < kOperations; ++i) {
      ratios[i].push_back(by_hand[i] / by_compiler[i]);
      written[i] = round == 0 ? by_hand[i] : std::min(written[i], by_hand[i]);
      generated[i] = round == 0 ? by_compiler[i] : std::min(generated[i], by_compiler[i]);
    }
  }
  std::printf("| %s |", pair.name.c_str());
  for (std::size_t i = 0; i < kOperations; ++i) {
    std::printf(" %.2f, %.2f |", median(ratios[i]), written[i] / generated[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int print_pairs(const std::vector<std::string>& names) {
  CodecBenchOptions options;
  options.partition = Elements{1} << 20;
  options.seconds = 0.05;
  std::printf(
      "Speed of what is generated, that of what is written by hand being 1: the median of %d rounds, and the "
      "least times\n\n| codec | encode | decode | merge of %d |\n|---|---|---|---|\n",
      kRounds, options.merged);
  for (const Pair& pair : all_pairs()) {
    const bool named = names.empty() || std::find(names.begin(), names.end(), pair.name) != names.end();
    if (named && pair.written != nullptr) print_pair(pair, options);
  }
  return 0;
}

}  // namespace casync::tools
