// SPDX-License-Identifier: Apache-2.0
//
// Copies between a device and the host, in scenarios that can be computed by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

Decision by_ps(int partitions, const char* codec = "none") {
  return {{codec, {}}, {codec, {}}, StrategyKind::kPs, partitions, 0};
}

}  // namespace

TEST_CASE("simulator: payloads are copied from a device, over the link, to a device, and back the same way") {
  Profile profile = ideal(kByte);
  profile.upload = Curve::affine(3e-5, 2e-10);
  profile.download = Curve::affine(5e-5, 4e-10);
  const double bytes = 4000, wire = bytes * kByte;
  const double up = profile.upload.at(bytes), down = profile.download.at(bytes);
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-6 * b; };  // copies are floats
  const Simulation two = simulated(one_gradient(2, 1000, by_ps(1), profile));
  // The contribution, the result on its way, the result at its receiver; the owner's own copy is done earlier.
  CHECK(close(two.step_s, (down + wire + up) + (down + wire + up)));
  CHECK(close(two.parts.copies_s, (down + 2 * up + down + up) / 2));
  // An owner brings all contributions of the others, one after the other, while the next ones arrive.
  const Simulation four = simulated(one_gradient(4, 1000, by_ps(1), profile));
  CHECK(close(four.step_s, down + 3 * wire + 3 * up + down + 3 * wire + up));
}

TEST_CASE("simulator: a step of local SGD has its part of the copies of an exchange") {
  Profile profile = ideal(kByte);
  profile.upload = profile.download = Curve::affine(3e-5, 2e-10);
  Scenario scenario = one_gradient(2, 1000, by_ps(1), profile);
  const double each = simulated(scenario).parts.copies_s;
  REQUIRE(each > 0);
  scenario.mode.every = 8;
  CHECK(simulated(scenario).parts.copies_s == Approx(each / 8));
}

TEST_CASE("simulator: copies both ways and codecs are resources of their own") {
  const int ranks = 2, partitions = 32;
  const Elements elements = static_cast<Elements>(partitions) * 64 * 1024;
  Profile profile = ideal(0);
  const double part = static_cast<double>(elements) / partitions;  // bytes of `byte`
  for (const auto& [up, down] : {std::pair(1e-9, 1e-10), {1e-10, 1e-9}, {1e-9, 1e-9}}) {
    profile.upload = Curve::affine(0, up);
    profile.download = Curve::affine(0, down);
    CAPTURE(up, down);
    const auto scenario = one_gradient(ranks, elements, by_ps(partitions, "byte"), profile);
    // A rank downloads its contribution to each partition or the result, and uploads the result; for half of them also
    // the other's contribution.
    const double uploads = 1.5 * partitions * part * up, downloads = partitions * part * down;
    const double step = simulated(scenario).step_s;
    CHECK(step >= std::max(uploads, downloads) * (1 - 1e-6));
    CHECK(step <= std::max(uploads, downloads) + 6 * part * (up + down));
  }
}

TEST_CASE("simulator: on a device, gradients that are ready together share the fixed cost of a codec's kernels") {
  constexpr std::size_t kGradients = 40;
  constexpr double kFixed = 1e-4, kElement = 1e-9;
  constexpr Elements kElements = 1000;
  Profile profile = ideal(1e-3);  // nothing arrives while gradients are encoded
  profile.launch_s = kFixed / 2;
  profile.codecs["half"].encode = Curve::affine(kFixed / 2, kElement);
  const auto encoding = [&](const Profile& on, const char* second) {
    Scenario scenario = one_gradient(2, kElements, by_ps(2, "half"), on);
    for (std::size_t g = 1; g < kGradients; ++g) {
      scenario.training.gradients.push_back(scenario.training.gradients[0]);
      scenario.training.gradients.back().spec.name += std::to_string(g);
      scenario.decisions.push_back(by_ps(2, g % 2 == 1 ? second : "half"));
    }
    return simulated(scenario).parts.encode_s;
  };
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-5 * b; };  // the shared part is a float
  const double work = kGradients * kElements / 2 * kElement;  // a rank encodes the partitions of the other
  CHECK(close(encoding(profile, "half"), kGradients * kFixed + work));
  profile.upload = profile.download = Curve::affine(1e-9, 0);
  CHECK(close(encoding(profile, "half"), kFixed + work));
  // No other codec joins them; those of equal priority take turns.
  profile.codecs["byte"] = profile.codecs["half"];
  CHECK(close(encoding(profile, "byte"), kGradients * kFixed + work));
}

}  // namespace casync
