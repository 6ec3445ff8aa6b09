// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/support/compare_rounds.h"

#include <limits>
#include <sstream>

#include "tests/compll/cuda/support/rounds_codec.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/round_ranks.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll::test {
namespace {

constexpr std::uint32_t kSteps = 3;
constexpr std::size_t kRanks = 2;

std::string title(const RoundsCodec& codec, Elements rows, Elements columns) {
  std::ostringstream text;
  text << codec.info().name;
  for (const double value : codec.info().values) text << " " << value;
  text << ", " << rows << " x " << columns;
  return text.str();
}

std::string floats_differ(const std::string& what, const std::vector<float>& meaning,
                          const std::vector<float>& kernel) {
  if (meaning.size() != kernel.size()) return what + " of another size";
  for (std::size_t i = 0; i < meaning.size(); ++i) {
    const bool both_nan = meaning[i] != meaning[i] && kernel[i] != kernel[i];
    if (both_nan || same_bytes({&meaning[i], 1}, {&kernel[i], 1})) continue;
    std::ostringstream text;
    text.precision(9);
    text << what << " " << i << " of " << meaning.size() << ": kernel " << kernel[i] << ", interpreter " << meaning[i];
    return text.str();
  }
  return "";
}

/// One gradient for each rank; in the last step one of them is not finite, if it has more than 100 elements.
std::vector<std::vector<float>> gradients_of(Elements n, std::uint32_t step) {
  std::vector<std::vector<float>> all = {gaussian(n, step + 1), laplace(n, step + 11)};
  if (step + 1 == kSteps && n > 100) all[0][n / 2] = std::numeric_limits<float>::infinity();
  return all;
}

std::string step_differs(const RoundsCodec& meaning, const RoundsCodec& kernel, Elements rows, Elements columns) {
  RoundRanks expected(meaning, kRanks, rows, columns), made(kernel, kRanks, rows, columns);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const auto gradients = gradients_of(rows * columns, step);
    const auto results = expected.step(gradients, step, 0.5f), own = made.step(gradients, step, 0.5f);
    const std::string in_step = "step " + std::to_string(step) + ", ";
    for (std::size_t round = 0; round < expected.exchanged().size(); ++round) {
      const std::string what = in_step + "exchange " + std::to_string(round) + ", element";
      const std::string found = floats_differ(what, expected.exchanged()[round], made.exchanged()[round]);
      if (!found.empty()) return found;
    }
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const std::string of_rank = in_step + "rank " + std::to_string(rank) + ", ";
      std::string found = floats_differ(of_rank + "result", results[rank], own[rank]);
      if (found.empty()) found = floats_differ(of_rank + "state", expected.states(rank), made.states(rank));
      if (!found.empty()) return found;
    }
  }
  return "";
}

/// One rank's step of a matrix: the result replaces the gradient, and no states are kept. An exchange gets its elements
/// in memory that had other ones.
struct Alone {
  Elements rows, columns;
  std::vector<float> gradient;
  std::vector<std::vector<float>> exchanged;
  std::vector<float*> places;
  std::vector<float> scratch;

  Alone(const RoundsCodec& codec, Elements of_rows, Elements of_columns)
      : rows(of_rows), columns(of_columns), gradient(laplace(of_rows * of_columns, 5)) {
    const RoundsShape shape = codec.shape(rows, columns);
    for (const Elements size : shape.exchanged) exchanged.emplace_back(size, -1.0f);
    for (std::vector<float>& each : exchanged) places.push_back(each.data());
    scratch.assign(shape.scratch, std::numeric_limits<float>::quiet_NaN());
  }
  Turn turn(std::uint32_t number) {
    float* const out = number == exchanged.size() ? gradient.data() : nullptr;
    return {number, rows, columns, gradient.data(), places, nullptr, nullptr, scratch.data(), out};
  }
};

std::string batch_differs(const RoundsCodec& meaning, RoundsKernelCodec& kernel, const Shapes& shapes) {
  std::vector<Alone> expected, made;
  std::vector<EncodeContext> contexts;
  for (const auto& [rows, columns] : shapes) {
    expected.emplace_back(meaning, rows, columns);
    made.emplace_back(kernel, rows, columns);
    contexts.push_back({3, 100 + contexts.size(), 9, 0});
  }
  const int before = kernel.launches();
  for (std::uint32_t number = 0; number <= meaning.info().rounds; ++number) {
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      meaning.turn(expected[i].turn(number), contexts[i]);
      turns.push_back(made[i].turn(number));
    }
    kernel.turns(turns, contexts);
  }
  if (kernel.launches() != before + static_cast<int>(meaning.info().rounds) + 1) return "not one launch for each turn";
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::string found = floats_differ("result in place", expected[i].gradient, made[i].gradient);
    for (std::size_t round = 0; round < made[i].exchanged.size() && found.empty(); ++round) {
      const std::string what = "exchange " + std::to_string(round) + ", element";
      found = floats_differ(what, expected[i].exchanged[round], made[i].exchanged[round]);
    }
    if (!found.empty()) return title(meaning, shapes[i].first, shapes[i].second) + ", in a batch: " + found;
  }
  return "";
}

}  // namespace

std::string difference(const cuda::RoundsKernels& kernels, const RoundsCodec& meaning, KernelDevice& device,
                       const Shapes& shapes) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto [rows, columns] = shapes[i];
    const RoundsKernelCodec kernel(kernels, meaning, device, i % 4);
    const RoundsShape expected = meaning.shape(rows, columns), own = kernel.shape(rows, columns);
    std::string found = expected.exchanged != own.exchanged || expected.states != own.states
                            ? "sizes"
                            : step_differs(meaning, kernel, rows, columns);
    if (found.empty() && kernel.wrote_outside()) found = "a kernel wrote outside of its memory";
    if (!found.empty()) return title(meaning, rows, columns) + ": " + found;
  }
  RoundsKernelCodec kernel(kernels, meaning, device);
  const std::string found = batch_differs(meaning, kernel, shapes);
  if (!found.empty()) return found;
  return kernel.wrote_outside() ? meaning.info().name + ": a kernel wrote outside of its memory" : "";
}

}  // namespace casync::compll::test
