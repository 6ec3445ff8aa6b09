// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/check/rounds.h"

#include <cmath>
#include <utility>

#include "compll/lang/element_count.h"
#include "tools/casync/codec/check/suite.h"
#include "tools/casync/codec_figures/rounds_trial.h"
#include "tools/casync/codec_figures/samples.h"

namespace casync::tools {
namespace {

using Floats = std::vector<float>;

constexpr std::size_t kRanks = 3;
constexpr std::uint32_t kSteps = 12;
constexpr Elements kMostInterpreted = 2048;

/// The gradients of three ranks in each step.
struct Matrices {
  std::string name;
  Sample::Kind kind = Sample::Kind::kOrdinary;
  Elements rows = 0, columns = 0;
  std::vector<Floats> gradients;

  bool is_finite() const { return kind != Sample::Kind::kNotFinite; }
};

double norm_squared(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

std::vector<double> mean_of(const std::vector<Floats>& gradients) {
  std::vector<double> mean(gradients.front().size());
  for (const Floats& gradient : gradients) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / static_cast<double>(gradients.size());
  }
  return mean;
}

/// ||given / steps - mean||^2 / ||mean||^2; 0 where there is no mean.
double error_of(std::span<const double> given, std::span<const double> mean, double steps) {
  const double norm = norm_squared(mean);
  std::vector<double> missing(mean.size());
  for (std::size_t i = 0; i < mean.size(); ++i) missing[i] = given[i] / steps - mean[i];
  return norm == 0 ? 0 : norm_squared(missing) / norm;
}

/// The errors after the first step, and after all of them.
std::pair<double, double> errors_over(const compll::RoundsCodec& codec, const std::vector<Floats>& gradients,
                                      Elements rows, Elements columns, std::uint32_t steps) {
  RoundsGroup group(codec, gradients.size(), rows, columns);
  const std::vector<double> mean = mean_of(gradients);
  std::vector<double> given(mean.size());
  double first = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    group.step(gradients, step);
    const Floats result = group.result(0);
    for (std::size_t i = 0; i < given.size(); ++i) given[i] += result[i];
    if (step == 0) first = error_of(given, mean, 1);
  }
  return {first, error_of(given, mean, steps)};
}

RoundsGroup after_steps(const compll::RoundsCodec& codec, const Matrices& of, std::uint32_t steps) {
  RoundsGroup group(codec, kRanks, of.rows, of.columns);
  for (std::uint32_t step = 0; step < steps; ++step) group.step(of.gradients, step);
  return group;
}

/// The first difference of two groups after a step, in words.
std::string difference_of_groups(const CheckedRounds& checked, const RoundsGroup& is, const RoundsGroup& should) {
  for (std::uint32_t round = 0; round < checked.codec.info().rounds; ++round) {
    const std::string what = text_of("of exchange ", round, ", element");
    if (std::string found = difference(what, is.exchanged(round), should.exchanged(round), NanBits::kAny);
        !found.empty()) {
      return found;
    }
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (std::string found = difference("result element", is.result(rank), should.result(rank), NanBits::kAny);
        !found.empty()) {
      return found;
    }
    if (std::string found = difference("state", is.states(rank), should.states(rank), NanBits::kAny); !found.empty()) {
      return found;
    }
  }
  return "";
}

std::string stays_inside(const CheckedRounds& checked, const Matrices& of) {
  return after_steps(checked.codec, of, 2).stayed_inside() ? "" : "a turn writes outside of its memory";
}

std::string is_as_interpreted(const CheckedRounds& checked, const Matrices& of) {
  if (!of.is_finite() || of.rows * of.columns > kMostInterpreted) return "";
  return difference_of_groups(checked, after_steps(checked.codec, of, 2), after_steps(*checked.meaning, of, 2));
}

std::string is_repeatable(const CheckedRounds& checked, const Matrices& of) {
  if (!of.is_finite()) return "";
  return difference_of_groups(checked, after_steps(checked.codec, of, 2), after_steps(checked.codec, of, 2));
}

std::string begins_with_zeros(const CheckedRounds& checked, const Matrices& of) {
  if (!of.is_finite()) return "";
  RoundsGroup anew(checked.codec, kRanks, of.rows, of.columns);
  anew.step(of.gradients, 0, true);
  return difference_of_groups(checked, anew, after_steps(checked.codec, of, 1));
}

std::string is_alike(const CheckedRounds& checked, const Matrices& of) {
  if (!of.is_finite()) return "";
  const RoundsGroup group = after_steps(checked.codec, of, 3);
  for (std::size_t rank = 1; rank < kRanks; ++rank) {
    const std::string what = text_of("rank ", rank, "'s element");
    if (std::string found = difference(what, group.result(rank), group.result(0)); !found.empty()) return found;
  }
  return "";
}

std::string tells_not_finite(const CheckedRounds& checked, const Matrices& of) {
  const RoundsGroup group = after_steps(checked.codec, of, 2);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (finite(group.result(rank)) == of.is_finite()) continue;
    return text_of("rank ", rank, "'s result is ", of.is_finite() ? "not finite" : "finite: rank 1's gradient is not");
  }
  return "";
}

std::string keeps_zeros(const CheckedRounds& checked, const Matrices& of) {
  if (of.name != "zeros") return "";
  const RoundsGroup group = after_steps(checked.codec, of, 2);
  const Floats result = group.result(0);
  const auto other = std::find_if(result.begin(), result.end(), [](float value) { return value != 0; });
  return other == result.end() ? "" : text_of("element ", other - result.begin(), " is ", *other);
}

/// The mean over the ranks of gradient and earlier state is result and mean of the state afterwards. `first`: where the
/// state begins among all that a rank keeps.
std::string conserves(const RoundsGroup& group, const Matrices& of, std::size_t first) {
  const std::size_t n = of.rows * of.columns;
  const Floats result = group.result(0);
  for (std::size_t i = 0; i < n; ++i) {
    double before = 0, after = result[i], size = std::fabs(result[i]);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const double had = static_cast<double>(of.gradients[rank][i]) + group.states_before(rank)[first + i];
      before += had / kRanks;
      after += static_cast<double>(group.states(rank)[first + i]) / kRanks;
      size = std::max({size, std::fabs(had), std::fabs(static_cast<double>(group.states(rank)[first + i]))});
    }
    // Each rank's product of factors and the mean's product are rounded separately.
    if (std::fabs(after - before) <= 1e-5 * size + 1e-5 * std::sqrt(norm_squared(mean_of(of.gradients)))) continue;
    return text_of("element ", i, " with what was left is ", before, ", result and what is left now are ", after);
  }
  return "";
}

std::string keeps_what_it_does_not_give(const CheckedRounds& checked, const Matrices& of) {
  if (!of.is_finite()) return "";
  const RoundsGroup group = after_steps(checked.codec, of, 3);
  std::string said = "no state has an element for each of the gradient's";
  std::size_t first = 0;
  for (const compll::ProgramState& state : checked.program.states) {
    const Elements size = element_count(checked.program, {compll::kFloatType, state.extent},
                                        checked.codec.info().values, compll::GradientShape(of.rows, of.columns));
    if (size == of.rows * of.columns && state.extent.kind == compll::Extent::Kind::kElements) {
      said = conserves(group, of, first);
      if (said.empty()) return "";
    }
    first += size;
  }
  return said;
}

std::string comes_nearer(const CheckedRounds& checked, const Matrices& of) {
  if (!of.is_finite()) return "";
  const double first = errors_over(checked.codec, of.gradients, of.rows, of.columns, 1).first;
  return first < 1 + 1e-6 ? "" : text_of("||result - mean||^2 is ", first, " times ||mean||^2");
}

std::string gives_later(const CheckedRounds& checked, const Matrices& of) {
  if (!of.is_finite()) return "";
  const auto [first, all] = errors_over(checked.codec, of.gradients, of.rows, of.columns, kSteps);
  if (all <= std::max(first, 1e-9) * 1.0001) return "";
  return text_of("||sum of results - sum of means||^2 is ", all, " of the latter after ", kSteps, " steps, ", first,
                 " after one");
}

std::vector<Row<CheckedRounds, Matrices>> rows_for(const CheckedRounds& checked) {
  std::vector<Row<CheckedRounds, Matrices>> rows = {
      {"turns write nothing but their own memory", Reach::kEverywhere, stays_inside},
      {"the same input gives the same bytes", Reach::kEverywhere, is_repeatable},
      {"a step without states is one whose states are zeros", Reach::kEverywhere, begins_with_zeros},
      {"all ranks have the same result", Reach::kEverywhere, is_alike},
      {"NaN and infinity reach all ranks, the rest gives finite numbers", Reach::kOrdinary, tells_not_finite},
      {"zeros stay zeros", Reach::kOrdinary, keeps_zeros},
      {"a state keeps what the result does not have", Reach::kRemark, keeps_what_it_does_not_give},
  };
  if (checked.meaning != nullptr) {
    rows.insert(rows.begin() + 1, {"the bytes are the interpreter's", Reach::kEverywhere, is_as_interpreted});
  }
  if (checked.program.declares.contractive) {
    rows.push_back({"contractive: ||result - mean|| <= ||mean||", Reach::kOrdinary, comes_nearer});
    rows.push_back({"what a step does not give comes later", Reach::kOrdinary, gives_later});
  }
  return rows;
}

std::vector<Matrices> matrices() {
  constexpr std::pair<Elements, Elements> kShapes[] = {{0, 3}, {1, 1},   {1, 9},   {9, 1},  {2, 3},
                                                       {8, 8}, {16, 17}, {33, 64}, {65, 7}, {128, 40}};
  std::vector<Matrices> all;
  for (const auto& [rows, columns] : kShapes) {
    const Elements n = rows * columns;
    for (const Sample& sample : samples(n)) {
      Floats reversed(sample.values.rbegin(), sample.values.rend()), turned = sample.values;
      std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(n / 3), turned.end());
      // Only one rank has values that are not finite: the others have to be told.
      if (sample.kind == Sample::Kind::kNotFinite) reversed = gaussian_sample(n, 5), turned = gaussian_sample(n, 6);
      all.push_back({sample.name, sample.kind, rows, columns, {reversed, sample.values, turned}});
    }
  }
  return all;
}

}  // namespace

std::vector<Verdict> check_rounds_properties(const CheckedRounds& checked) {
  Suite suite(checked, rows_for(checked));
  for (const Matrices& each : matrices()) {
    suite.ask(each, each.kind, text_of(each.name, ", ", each.rows, " x ", each.columns));
  }
  return std::move(suite).verdicts();
}

}  // namespace casync::tools
