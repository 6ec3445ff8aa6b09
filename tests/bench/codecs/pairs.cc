// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/codecs/pairs.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <utility>

#include "base/check.h"
#include "tests/bench/codecs/yardsticks/yardstick.h"

namespace casync::tools {
namespace {

constexpr std::size_t kOperations = 3;  // encode, decode, merge
constexpr std::size_t kTerms = 4;
constexpr Elements kTotal = Elements{1} << 24, kPartition = Elements{1} << 20;
constexpr int kRounds = 41;

using Seconds = std::array<double, kOperations>;

struct Free {
  void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
};

/// Memory whose pages are touched when it is allocated, ahead of any measurement.
class Memory {
 public:
  explicit Memory(Bytes size) : bytes_(static_cast<std::byte*>(::operator new (size, std::align_val_t{4096}))) {
    std::memset(bytes_.get(), 0, size);
  }
  std::byte* bytes() const { return bytes_.get(); }
  float* floats() const { return reinterpret_cast<float*>(bytes_.get()); }

 private:
  std::unique_ptr<std::byte, Free> bytes_;
};

// Processor time of this thread: excludes the time in which other threads have the core.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The memory of a model in partitions. Both codecs of a pair use the same pages: other pages change the time by a few
/// percent.
class Model {
 public:
  explicit Model(const compll::Codec& any)
      : slot_(round_up(any.encoded_bound(kPartition), 64)), code_size_(slot_ * (kTotal / kPartition)) {
    constexpr Elements kPeriod = (1 << 16) + 1;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    float* const values = values_.floats();
    for (Elements i = 0; i < kTotal; ++i) values[i] = i < kPeriod ? normal(random) : values[i - kPeriod];
    for (std::size_t i = 0; i <= kTerms; ++i) codes_.emplace_back(code_size_);
    for (std::size_t i = 0; i < kTerms; ++i) encode(any, i);
  }

  Seconds measure(const compll::Codec& codec) {
    const double begin = thread_seconds();
    encode(codec, 0);
    const double encoded = thread_seconds();
    decode(codec);
    const double decoded = thread_seconds();
    merge(codec);
    return {encoded - begin, decoded - encoded, thread_seconds() - decoded};
  }

  /// Returns true if both write the same payloads and states, and decode them to the same elements.
  bool is_same(const compll::Codec& a, const compll::Codec& b) { return bytes_of(a) == bytes_of(b); }

 private:
  template <class Body>
  static void for_partitions(const Body& body) {
    for (Elements p = 0; p < kTotal / kPartition; ++p) body(p, p * kPartition);
  }
  compll::Residual residual(const compll::Codec& codec, Elements first) const {
    if (codec.info().states == 0) return {};
    return {before_.floats() + first, after_.floats() + first, kTotal};
  }
  ConstView code(const compll::Codec& codec, std::size_t i, Elements p) const {
    return {codes_[i].bytes() + p * slot_, codec.encoded_bound(kPartition)};
  }

  void encode(const compll::Codec& codec, std::size_t i) {
    for_partitions([&](Elements p, Elements first) {
      codec.encode(values_.floats() + first, kPartition, residual(codec, first), {}, codes_[i].bytes() + p * slot_);
    });
  }
  void decode(const compll::Codec& codec) {
    for_partitions(
        [&](Elements p, Elements first) { codec.decode(code(codec, 0, p), kPartition, decoded_.floats() + first); });
  }
  void merge(const compll::Codec& codec) {
    for_partitions([&](Elements p, Elements first) {
      std::array<compll::Contribution, kTerms> terms;
      for (std::size_t i = 0; i < kTerms; ++i) terms[i].code = code(codec, i, p);
      codec.merge(terms, kPartition, 1.0f / kTerms, codec, residual(codec, first), {},
                  codes_[kTerms].bytes() + p * slot_);
    });
  }
  std::vector<std::byte> bytes_of(const compll::Codec& codec) {
    const std::pair<std::byte*, Bytes> results[] = {{codes_[0].bytes(), code_size_},
                                                    {codes_[kTerms].bytes(), code_size_},
                                                    {decoded_.bytes(), kTotal * sizeof(float)},
                                                    {after_.bytes(), kTotal * sizeof(float)}};
    // Removes the other codec's results: in their place, bytes that this one does not write would be equal.
    for (const auto& [bytes, size] : results) std::memset(bytes, 0, size);
    measure(codec);
    std::vector<std::byte> all;
    for (const auto& [bytes, size] : results) all.insert(all.end(), bytes, bytes + size);
    return all;
  }

  Bytes slot_, code_size_;
  Memory values_{kTotal * sizeof(float)}, before_{kTotal * sizeof(float)}, after_{kTotal * sizeof(float)},
      decoded_{kTotal * sizeof(float)};
  std::vector<Memory> codes_;  ///< payloads of the terms, and of their merge
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Measures both by turns in each round: others share the machine, and a disturbance then affects both.
void print_pair(const compll::Codec& generated, const compll::Codec& yardstick) {
  Model model(generated);
  CASYNC_CHECK(model.is_same(generated, yardstick));
  std::array<std::vector<double>, kOperations> ratios;
  Seconds by_hand, by_compiler;
  by_hand.fill(HUGE_VAL);
  by_compiler.fill(HUGE_VAL);
  for (int round = 0; round < kRounds; ++round) {
    Seconds hand, compiler;
    if (round % 2 == 0) hand = model.measure(yardstick);
    compiler = model.measure(generated);
    if (round % 2 != 0) hand = model.measure(yardstick);
    for (std::size_t i = 0; i < kOperations; ++i) {
      ratios[i].push_back(hand[i] / compiler[i]);
      by_hand[i] = std::min(by_hand[i], hand[i]);
      by_compiler[i] = std::min(by_compiler[i], compiler[i]);
    }
  }
  std::printf("| %s |", generated.info().name.c_str());
  for (std::size_t i = 0; i < kOperations; ++i) {
    std::printf(" %.2f, %.2f |", median(ratios[i]), by_hand[i] / by_compiler[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int print_pairs(const std::vector<std::string>& names) {
  std::printf(
      "Speed of what is generated, that of what is written by hand being 1: the median of %d rounds, and the "
      "least times\n\n| codec | encode | decode | merge of %zu |\n|---|---|---|---|\n",
      kRounds, kTerms);
  for (const std::string& name : compll::codec_names()) {
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    const auto generated = compll::make_codec(name);
    CASYNC_CHECK(generated.is_ok());
    const std::unique_ptr<compll::Codec> yardstick = compll::make_yardstick((*generated)->info());
    if (yardstick != nullptr) print_pair(**generated, *yardstick);
  }
  return 0;
}

}  // namespace casync::tools
