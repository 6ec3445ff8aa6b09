// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/compare_steps.h"

#include <limits>
#include <sstream>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/round_ranks.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll::test {
namespace {

constexpr std::uint32_t kSteps = 3;
constexpr std::size_t kRanks = 2;

/// One gradient for each rank; in the last step one of them is not finite, if it has more than 100 elements.
std::vector<std::vector<float>> gradients_of(Elements n, std::uint32_t step) {
  std::vector<std::vector<float>> all = {gaussian(n, step + 1), laplace(n, step + 11)};
  if (step + 1 == kSteps && n > 100) all[0][n / 2] = std::numeric_limits<float>::infinity();
  return all;
}

}  // namespace

std::string floats_differ(const std::string& what, const std::vector<float>& meaning, const std::vector<float>& made) {
  if (meaning.size() != made.size()) return what + " of another size";
  for (std::size_t i = 0; i < meaning.size(); ++i) {
    const bool both_nan = meaning[i] != meaning[i] && made[i] != made[i];
    if (both_nan || same_bytes({&meaning[i], 1}, {&made[i], 1})) continue;
    std::ostringstream text;
    text.precision(9);
    text << what << " " << i << " of " << meaning.size() << ": " << made[i] << ", expected " << meaning[i];
    return text.str();
  }
  return "";
}

std::string steps_differ(const RoundsCodec& meaning, const RoundsCodec& codec, Elements rows, Elements columns) {
  RoundRanks expected(meaning, kRanks, rows, columns), made(codec, kRanks, rows, columns);
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

}  // namespace casync::compll::test
