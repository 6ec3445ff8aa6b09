// SPDX-License-Identifier: Apache-2.0
//
// Training in small: four ranks whose data differ, a problem whose answer is known. With feedback a codec has to come
// to where uncompressed training ends, and without it, as a negative control, a coarse codec must not.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/ranks.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

using Vector = std::vector<float>;

constexpr Elements kElements = 64;
constexpr std::size_t kRanks = 4;
constexpr std::uint32_t kSteps = 1600;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

Vector difference(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

struct Problem {
  std::function<Vector(const Vector& at, std::size_t rank, std::uint32_t step)> gradient;
  std::function<double(const Vector& at)> loss;
  float rate = 0;
};

/// f(x) = 1/2 (x - t) A (x - t), where A has the eigenvalues 0.1 to 1 along no axis and t is the mean of the ranks' own
/// targets; gradients have noise.
Problem quadratic() {
  Vector mirror = gaussian(kElements, 77);
  const auto norm = static_cast<float>(std::sqrt(dot(mirror, mirror)));
  for (float& each : mirror) each /= norm;
  const auto times = [mirror](Vector x) {
    const auto turn = [&] {
      const auto along = static_cast<float>(2 * dot(mirror, x));
      for (Elements i = 0; i < kElements; ++i) x[i] -= along * mirror[i];
    };
    turn();
    for (Elements i = 0; i < kElements; ++i) x[i] *= 0.1f + 0.9f * static_cast<float>(i) / (kElements - 1);
    turn();
    return x;
  };
  std::vector<Vector> targets;
  Vector mean(kElements, 0.0f);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    targets.push_back(laplace(kElements, 50 + rank));
    for (Elements i = 0; i < kElements; ++i) mean[i] += targets.back()[i] / kRanks;
  }
  const auto gradient = [=](const Vector& x, std::size_t rank, std::uint32_t step) {
    Vector all = times(difference(x, targets[rank]));
    const Vector noise = gaussian(kElements, 1000 + 4 * step + static_cast<std::uint32_t>(rank));
    for (Elements i = 0; i < kElements; ++i) all[i] += 0.5f * noise[i];
    return all;
  };
  const auto loss = [=](const Vector& x) { return dot(difference(x, mean), times(difference(x, mean))) / 2; };
  return {gradient, loss, 0.05f};
}

/// Logistic regression, 64 samples a rank whose labels have noise.
Problem logistic() {
  constexpr std::size_t kSamples = 64;
  const Vector truth = gaussian(kElements, 7);
  std::vector<std::vector<Vector>> inputs(kRanks);
  std::vector<Vector> labels(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const Vector noise = gaussian(kSamples, 300 + rank);
    for (std::uint32_t s = 0; s < kSamples; ++s) {
      inputs[rank].push_back(gaussian(kElements, 400 + rank * static_cast<std::uint32_t>(kSamples) + s));
      labels[rank].push_back(dot(inputs[rank].back(), truth) + 4 * noise[s] > 0 ? 1.0f : 0.0f);
    }
  }
  const auto chance = [](const Vector& input, const Vector& x) { return 1 / (1 + std::exp(-dot(input, x))); };
  const auto gradient = [=](const Vector& x, std::size_t rank, std::uint32_t) {
    Vector all(kElements, 0.0f);
    for (std::size_t s = 0; s < kSamples; ++s) {
      const double off = chance(inputs[rank][s], x) - labels[rank][s];
      for (Elements i = 0; i < kElements; ++i) all[i] += static_cast<float>(off * inputs[rank][s][i] / kSamples);
    }
    return all;
  };
  const auto loss = [=](const Vector& x) {
    double sum = 0;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      for (std::size_t s = 0; s < kSamples; ++s) {
        const double p = chance(inputs[rank][s], x);
        sum -= std::log(std::max(labels[rank][s] > 0 ? p : 1 - p, 1e-300));
      }
    }
    return sum / (kRanks * kSamples);
  };
  return {gradient, loss, 0.1f};
}

enum class Forgets { kNothing, kAll };

/// The mean loss of the last quarter. After the first half steps are a tenth as large.
double trained(const Problem& problem, const Codec* codec, Forgets forgets = Forgets::kNothing) {
  Vector x(kElements, 0.0f);
  std::optional<Ranks> ranks;
  if (codec != nullptr) ranks.emplace(*codec, kRanks, kElements);
  double late = 0;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    std::vector<Vector> gradients;
    for (std::size_t rank = 0; rank < kRanks; ++rank) gradients.push_back(problem.gradient(x, rank, step));
    Vector mean(kElements, 0.0f);
    if (ranks) {
      mean = ranks->step(gradients, step).front();
      if (forgets == Forgets::kAll) ranks->forget_encoders(), ranks->forget_owner();
    } else {
      for (const Vector& each : gradients) {
        for (Elements i = 0; i < kElements; ++i) mean[i] += each[i] / kRanks;
      }
    }
    const float rate = problem.rate * (step < kSteps / 2 ? 1.0f : 0.1f);
    for (Elements i = 0; i < kElements; ++i) x[i] -= rate * mean[i];
    if (step >= kSteps - kSteps / 4) late += problem.loss(x) / (kSteps / 4);
  }
  return late;
}

/// A codec's program, and the codec as it is compiled: its bytes are the interpreter's, in a tenth of the time.
struct Trainee {
  std::shared_ptr<const Program> program;
  std::unique_ptr<Codec> codec;
};

Trainee trainee(const std::string& name, const Parameters& parameters) {
  Trainee made{from_source(name, parameters).program, codec_of(name, parameters)};
  made.codec->prepare_thread();
  return made;
}

/// The codec with shares and thresholds that suit 64 elements, and without momentum, as the others have none. EF21
/// has to keep up with noise.
Trainee for_training(const std::string& name) {
  static const std::map<std::string, Parameters> kTable = {
      {"atomo", {{"ratio", 0.5}}},        {"dgc", {{"ratio", 0.1}, {"momentum", 0}}},    {"ef21", {{"ratio", 0.3}}},
      {"laq", {{"lazy", 0.25}}},          {"randomk", {{"ratio", 0.1}, {"run", 4}}},     {"sketch", {{"block", 8}}},
      {"sketch_median", {{"block", 32}}}, {"subsampling", {{"ratio", 0.6}, {"run", 4}}}, {"tbq", {{"tau", 4}}},
      {"threshold", {{"tau", 0.1}}},      {"threshold_coded", {{"tau", 0.1}}},           {"twobit", {{"tau", 4}}}};
  const auto found = kTable.find(name);
  if (found != kTable.end()) return trainee(name, found->second);
  Trainee plain = trainee(name, {});
  for (const auto& parameter : plain.program->parameters) {
    if (parameter.name == "ratio") return trainee(name, {{"ratio", 0.1}});
  }
  return plain;
}

/// Returns true if one encoding loses more than a tenth of a Gaussian's square, so that feedback is needed.
bool is_coarse(const Codec& codec) {
  const Vector x = gaussian(kElements, 1);
  return norm_squared(difference(x, round_trip(codec, x))) > 0.1 * norm_squared(x);
}

bool keeps_something(const Trainee& trainee) {
  return trainee.program->declares.feedback || trainee.codec->info().states != 0;
}

}  // namespace

TEST_CASE(
    "training: with a residual a noisy quadratic comes to where uncompressed steps bring it, without one it does not") {
  const Problem problem = quadratic();
  const double dense = trained(problem, nullptr);
  REQUIRE(dense < 1e-3 * problem.loss(Vector(kElements, 0.0f)));
  std::map<std::string, double> late;
  int controls = 0;
  for (const std::string& name : written_names()) {
    INFO(name);
    const Trainee written = for_training(name);
    late[name] = trained(problem, written.codec.get());
    if (name == "signsgd") {
      CHECK(late[name] > 100 * dense);  // a majority is no mean, and nothing is kept
      continue;
    }
    CHECK(late[name] < (written.program->declares.unbiased ? 12 : 2.5) * dense);
    if (!keeps_something(written) || !is_coarse(*written.codec)) continue;
    CHECK(trained(problem, written.codec.get(), Forgets::kAll) > 5 * late[name]);
    ++controls;
  }
  CHECK(controls > 12);
  CHECK(late["diana"] < 0.75 * late["terngrad"]);  // it learns the constant difference of the ranks' gradients
}

TEST_CASE("training: the loss of a logistic regression is within a hundredth of that of uncompressed steps") {
  const Problem problem = logistic();
  const double dense = trained(problem, nullptr);
  REQUIRE(dense < 0.3 * problem.loss(Vector(kElements, 0.0f)));
  int controls = 0;
  for (const std::string& name : written_names()) {
    INFO(name);
    const Trainee written = for_training(name);
    const double late = trained(problem, written.codec.get());
    if (name == "signsgd") {
      CHECK(late > 2 * dense);
      continue;
    }
    CHECK(late < 1.01 * dense);
    // DIANA's results are sums of differences: without its shifts they are another method, not a worse one.
    if (!keeps_something(written) || !is_coarse(*written.codec) || name == "diana") continue;
    // drive loses another part of the gradient in each step, and lloyd2 loses little.
    const double worse = name == "drive" || name == "lloyd2" ? 1.05 : 1.2;
    CHECK(trained(problem, written.codec.get(), Forgets::kAll) > worse * dense);
    ++controls;
  }
  CHECK(controls > 12);
}

}  // namespace casync::compll
