// SPDX-License-Identifier: Apache-2.0
//
// Whole steps of every codec over several ranks: what holds of the results, and over many steps.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <optional>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/ranks.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

using Gradients = std::vector<std::vector<float>>;

constexpr Elements kElements = 67;

/// Each rank's own gradient in the mean, and noise.
Gradients gradients_at(std::uint32_t step, std::size_t ranks, Elements n) {
  Gradients gradients;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    gradients.push_back(laplace(n, 900 + rank));
    const std::vector<float> noise = gaussian(n, 8 * step + rank);
    for (Elements i = 0; i < n; ++i) gradients.back()[i] += noise[i];
  }
  return gradients;
}

/// Parameters with which a codec keeps all that it does not send, and the state that has it. A threshold is above the
/// gradients here, or no step could send what arrives in one.
struct Keeps {
  Parameters parameters;
  std::size_t state = 0;
};

std::optional<Keeps> keeps(const std::string& name) {
  static const std::map<std::string, Keeps> kTable = {
      {"adacomp", {}},          {"dgc", {{{"momentum", 0}}, 1}},     {"ecqsgd", {{{"alpha", 1}, {"beta", 1}}}},
      {"tbq", {{{"tau", 16}}}}, {"threshold_coded", {{{"tau", 1}}}}, {"twobit", {{{"tau", 16}}}}};
  const auto found = kTable.find(name);
  if (found != kTable.end()) return found->second;
  if (from_source(name).program->declares.feedback) return Keeps{};
  return std::nullopt;
}

/// Sums over steps, by elements.
struct Sums {
  std::vector<double> given = std::vector<double>(kElements, 0), made = given;

  void add(const Gradients& gradients, const std::vector<float>& result) {
    for (Elements i = 0; i < kElements; ++i) {
      for (const std::vector<float>& gradient : gradients)
        given[i] += gradient[i] / static_cast<double>(gradients.size());
      made[i] += result[i];
    }
  }
  /// ||given - made|| / ||given||.
  double apart() const {
    double difference = 0, norm = 0;
    for (Elements i = 0; i < kElements; ++i) {
      difference += std::pow(given[i] - made[i], 2);
      norm += given[i] * given[i];
    }
    return std::sqrt(difference / norm);
  }
};

enum class Forgets { kNothing, kEncoders, kOwner };

/// Relative difference between all gradients and the results plus what is kept, after 60 steps.
double lost(const Codec& codec, std::size_t state, std::size_t count, Forgets forgets) {
  Ranks ranks(codec, count, kElements);
  Sums sums;
  for (std::uint32_t step = 0; step < 60; ++step) {
    const Gradients gradients = gradients_at(step, count, kElements);
    sums.add(gradients, ranks.step(gradients, step).front());
    if (forgets == Forgets::kEncoders) ranks.forget_encoders();
    if (forgets == Forgets::kOwner) ranks.forget_owner();
  }
  const std::vector<float> at_owner = ranks.owner(state);
  for (Elements i = 0; i < kElements; ++i) {
    sums.made[i] += at_owner[i];
    for (std::size_t rank = 0; rank < count; ++rank) {
      sums.made[i] += ranks.encoder(rank, state)[i] / static_cast<double>(count);
    }
  }
  return sums.apart();
}

/// Relative difference between the mean result of many steps and the mean gradient.
double off(const Codec& codec, Numbers numbers, int steps, bool forget = false) {
  Ranks ranks(codec, 3, kElements, numbers);
  Sums sums;
  for (int step = 0; step < steps; ++step) {
    const auto number = static_cast<std::uint32_t>(step);
    const Gradients gradients = gradients_at(number, 3, kElements);
    sums.add(gradients, ranks.step(gradients, number).front());
    if (forget) ranks.forget_encoders();
    if (forget) ranks.forget_owner();
  }
  return sums.apart();
}

}  // namespace

TEST_CASE("step: all ranks end with the same bytes, whatever the codec keeps, and every payload passes its check") {
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    for (const std::size_t count : {1, 2, 3, 4}) {
      for (const Elements n : {Elements{1}, kElements}) {
        INFO(name << ", " << count << " ranks, n " << n);
        Ranks ranks(*written.codec, count, n);
        for (std::uint32_t step = 0; step < 6; ++step) {
          const Gradients results = ranks.step(gradients_at(step, count, n), step);
          for (const std::vector<float>& result : results) REQUIRE(same_bytes(result, results.front()));
        }
        CHECK(ranks.all_checked());
      }
    }
  }
}

TEST_CASE("step: a gradient that is not finite on one rank shows on all of them, and leaves every state as it was") {
  for (const std::string& name : written_names()) {
    INFO(name);
    const Written written = from_source(name);
    Ranks ranks(*written.codec, 3, kElements), others(*written.codec, 3, kElements);
    for (std::uint32_t step = 0; step < 3; ++step) {
      const Gradients gradients = gradients_at(step, 3, kElements);
      CHECK(ranks.step(gradients, step) == others.step(gradients, step));
    }
    Gradients broken = gradients_at(3, 3, kElements);
    broken[1][kElements / 2] = std::nanf("");
    const Gradients results = ranks.step(broken, 3);
    for (const std::vector<float>& result : results) {
      CHECK_FALSE(std::all_of(result.begin(), result.end(), [](float value) { return std::isfinite(value); }));
      CHECK(same_bytes(result, results.front()));
    }
    const Gradients gradients = gradients_at(4, 3, kElements);
    CHECK(ranks.step(gradients, 4) == others.step(gradients, 4));
  }
}

TEST_CASE("step: a vote counts each rank once, the owner, too, whatever the magnitudes") {
  const Written written = from_source("signsgd");
  for (const std::size_t loud : {0, 1, 3}) {
    Gradients gradients(4, std::vector<float>(kElements, -1e-3f));
    gradients[loud].assign(kElements, 100.0f);
    Ranks ranks(*written.codec, 4, kElements);
    for (const std::vector<float>& result : ranks.step(gradients, 0)) {
      CHECK(result == std::vector<float>(kElements, -1.0f));
    }
  }
}

TEST_CASE("step: a vote is that of most ranks, whoever they are, and a tie is positive") {
  const Written written = from_source("signsgd");
  for (const std::size_t count : {1, 2, 3, 4, 5, 8}) {
    INFO(count << " ranks");
    const Elements n = Elements{1} << count;  // element i has the votes of the bits of i
    Gradients gradients(count, std::vector<float>(n));
    for (std::size_t rank = 0; rank < count; ++rank) {
      const float size = 0.5f + static_cast<float>(rank);
      for (Elements i = 0; i < n; ++i) gradients[rank][i] = (i >> rank & 1) == 1 ? -size : size;
    }
    const std::vector<float> result = Ranks(*written.codec, count, n).step(gradients, 0).front();
    std::size_t wrong = 0;
    for (Elements i = 0; i < n; ++i) {
      wrong += result[i] != (2 * static_cast<std::size_t>(std::popcount(i)) > count ? -1.0f : 1.0f);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("step: results and residuals of ranks and owner are together the given elements") {
  int tried = 0;
  for (const std::string& name : written_names()) {
    const std::optional<Keeps> kept = keeps(name);
    if (!kept) continue;
    ++tried;
    const Written written = from_source(name, kept->parameters);
    for (const std::size_t count : {1, 2, 4}) {
      INFO(name << ", " << count << " ranks");
      CHECK(lost(*written.codec, kept->state, count, Forgets::kNothing) < 1e-5);
    }
    INFO(name << ", forgetting");
    CHECK(lost(*written.codec, kept->state, 3, Forgets::kEncoders) > 1e-4);
    // With randomk all ranks choose the same elements, and all of these arrive: the owner loses nothing. So it is with
    // the sums of sketches.
    if (name != "randomk" && !name.starts_with("sketch"))
      CHECK(lost(*written.codec, kept->state, 3, Forgets::kOwner) > 1e-4);
  }
  CHECK(tried > 15);
}

TEST_CASE("step: with what they keep, the mean of many results comes to the mean gradient, and not without") {
  for (const std::string& name : written_names()) {
    const std::optional<Keeps> kept = keeps(name);
    if (!kept && name != "diana" && name != "ef21") continue;
    INFO(name);
    Parameters parameters = kept ? kept->parameters : Parameters();
    if (name == "ef21") parameters = {{"ratio", 0.2}};             // noise is told as slowly as everything else
    if (name.starts_with("sketch")) parameters = {{"block", 16}};  // one part in 32 arrives too slowly for so few steps
    const Written written = from_source(name, parameters);
    const double early = off(*written.codec, Numbers::kDeclared, 50),
                 late = off(*written.codec, Numbers::kDeclared, 500);
    CHECK(late < 0.1);
    CHECK((late < early / 2 || late < 0.005));
    CHECK(off(*written.codec, Numbers::kDeclared, 500, true) > 5 * late);
  }
}

TEST_CASE("step: random rounding is right on average after two hops, if each of them draws numbers of its own") {
  for (const std::string& name : written_names()) {
    // One element in a hundred is too few for so few steps.
    const Written written = from_source(name, name == "atomo" ? Parameters{{"ratio", 0.25}} : Parameters());
    if (!written.program->declares.unbiased || written.codec->info().states != 0) continue;
    INFO(name);
    const double early = off(*written.codec, Numbers::kOwn, 50), late = off(*written.codec, Numbers::kOwn, 500);
    CHECK(late < early / 2);
    CHECK(late < 0.12);
  }
  // Numbers that all share make the same mistakes everywhere, and the owner repeats them.
  const Written written = from_source("terngrad");
  CHECK(off(*written.codec, Numbers::kShared, 500) > 0.3);
}

}  // namespace casync::compll
