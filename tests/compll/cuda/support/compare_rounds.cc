// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/support/compare_rounds.h"

#include <limits>
#include <sstream>

#include "tests/compll/cuda/support/rounds_codec.h"
#include "tests/compll/support/compare_steps.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll::test {
namespace {

std::string title(const RoundsCodec& codec, Elements rows, Elements columns) {
  std::ostringstream text;
  text << codec.info().name;
  for (const double value : codec.info().values) text << " " << value;
  text << ", " << rows << " x " << columns;
  return text.str();
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
                            : steps_differ(meaning, kernel, rows, columns);
    if (found.empty() && kernel.wrote_outside()) found = "a kernel wrote outside of its memory";
    if (!found.empty()) return title(meaning, rows, columns) + ": " + found;
  }
  RoundsKernelCodec kernel(kernels, meaning, device);
  const std::string found = batch_differs(meaning, kernel, shapes);
  if (!found.empty()) return found;
  return kernel.wrote_outside() ? meaning.info().name + ": a kernel wrote outside of its memory" : "";
}

}  // namespace casync::compll::test
