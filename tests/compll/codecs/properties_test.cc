// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

/// Elements of which none is small: halving them costs no format a bit.
std::vector<float> away_from_zero(Elements n) {
  std::vector<float> x = gaussian(n, 1);
  for (float& value : x) value += value < 0 ? -0.25f : 0.25f;
  return x;
}

/// Number of elements that do not scale with the input.
std::size_t scaling_faults(const Codec& codec, const Promises& promises) {
  const std::vector<float> x = away_from_zero(1000), decoded = round_trip(codec, x);
  std::size_t faults = 0;
  for (const int power : {-60, -31, -8, -1, 1, 8, 60}) {
    const std::vector<float> y = scaled(x, std::ldexp(1.0f, power));
    if (!holds_for(promises, y)) continue;
    const std::vector<float> a = round_trip(codec, y), b = scaled(decoded, std::ldexp(1.0f, power));
    for (Elements i = 0; i < x.size(); ++i) faults += a[i] != b[i];
  }
  return faults;
}

std::size_t sign_faults(const Codec& codec, const std::vector<float>& x) {
  const std::vector<float> a = round_trip(codec, scaled(x, -1)), b = round_trip(codec, x);
  std::size_t faults = 0;
  for (Elements i = 0; i < x.size(); ++i) faults += a[i] != -b[i];
  return faults;
}

/// Number of elements that decode to other values when they, or the blocks that share a scale, change places.
std::size_t order_faults(const Written& written, const std::vector<float>& x) {
  const Elements shared = sharing(written, x.size()), block = shared == x.size() ? 1 : shared;
  std::vector<Elements> from(x.size());
  std::vector<Elements> blocks(x.size() / block);
  for (Elements b = 0; b < blocks.size(); ++b) blocks[b] = b;
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(3));
  for (Elements i = 0; i < x.size(); ++i) from[i] = blocks[i / block] * block + i % block;
  std::vector<float> y(x.size());
  for (Elements i = 0; i < x.size(); ++i) y[i] = x[from[i]];
  const std::vector<float> a = round_trip(*written.codec, x), b = round_trip(*written.codec, y);
  std::size_t faults = 0;
  // A sum rounds in the order of its elements.
  for (Elements i = 0; i < x.size(); ++i) faults += !(std::fabs(b[i] - a[from[i]]) <= 1e-6f * std::fabs(b[i]));
  return faults;
}

/// Number of decoded elements that change when they are encoded and decoded once more.
std::size_t drift_faults(const Codec& codec, const std::vector<float>& x) {
  const std::vector<float> once = round_trip(codec, x), twice = round_trip(codec, once);
  std::size_t faults = 0;
  for (Elements i = 0; i < x.size(); ++i) faults += once[i] != twice[i];
  return faults;
}

}  // namespace

TEST_CASE("codecs: scaling by a power of two scales what is decoded") {
  for (const std::string& name : written_names()) {
    INFO(name);
    const Promises promises = promises_of(name);
    const std::size_t faults = scaling_faults(*from_source(name).codec, promises);
    CHECK((faults == 0) == promises.scales);
  }
}

TEST_CASE("codecs: a constant that is added to a scale would be noticed") {
  const std::string wrong = changed(source_of("efsign"), "return sum /", "return 1e-8 + sum /");
  CHECK(scaling_faults(*from_text("efsign", wrong).codec, {}) > 0);
}

TEST_CASE("codecs: changing all signs changes the signs of what is decoded") {
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    for (const Elements n : {1, 2, 31, 33, 129, 1000}) {
      INFO(name << ", n " << n);
      const std::size_t faults = sign_faults(*written.codec, gaussian(n, 1));
      if (promises_of(name).odd) CHECK(faults == 0);
    }
  }
}

TEST_CASE("codecs: in another order elements, or blocks of them, decode in that order") {
  int tried = 0;
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    if (!is_deterministic(written)) continue;
    INFO(name);
    const std::size_t faults = order_faults(written, gaussian(2048, 1));
    CHECK((faults == 0) == promises_of(name).anywhere);
    ++tried;
  }
  CHECK(tried > 15);
}

TEST_CASE("codecs: levels that are rounded down instead of to nearest would be noticed") {
  const std::string wrong = changed(source_of("int4"), "round(x * (1 / s))", "floor(x * (1 / s))");
  CHECK(sign_faults(*from_text("int4", wrong).codec, gaussian(1000, 1)) > 0);
}

TEST_CASE("codecs: a deterministic codec decodes its own results to themselves") {
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    if (!is_deterministic(written) || !promises_of(name).repeats) continue;
    for (const Elements n : {1, 2, 3, 7, 31, 32, 33, 129, 1000, 4099}) {
      for (const Input& input : inputs(n)) {
        if (!input.finite || !holds_for(promises_of(name), input.values)) continue;
        INFO(name << ", " << input.name << ", n " << n);
        CHECK(drift_faults(*written.codec, input.values) == 0);
      }
    }
  }
}

TEST_CASE("codecs: a decoder that stands for other values than the encoder rounds to would be noticed") {
  const std::string wrong = changed(source_of("int4"), "level * s;", "0.99 * level * s;");
  CHECK(drift_faults(*from_text("int4", wrong).codec, gaussian(1000, 1)) > 0);
}

TEST_CASE("codecs: an element that is not finite shows in what is decoded, and nowhere beyond what shares its scale") {
  const Elements n = 4099;
  const std::vector<float> x = gaussian(n, 3);
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    const Elements shared = sharing(written, n);
    const std::vector<float> clean = round_trip(*written.codec, x);
    for (const float special : {std::nanf(""), kInfinity, -kInfinity}) {
      for (const Elements at : {Elements{0}, n / 2, n - 1}) {
        INFO(name << ", " << special << " at " << at << ", " << shared << " elements share");
        std::vector<float> y = x;
        y[at] = special;
        const Coded coded = encode(*written.codec, y);
        CHECK_FALSE(coded.finite);
        CHECK(written.codec->check(coded.view(), n).is_ok());
        const std::vector<float> decoded = decode(*written.codec, coded, n);
        std::size_t shown = 0, changed_elsewhere = 0;
        for (Elements i = 0; i < n; ++i) shown += i / shared == at / shared && !std::isfinite(decoded[i]);
        CHECK(shown > 0);
        for (Elements i = 0; i < n; ++i) changed_elsewhere += i / shared != at / shared && decoded[i] != clean[i];
        CHECK(changed_elsewhere == 0);
      }
    }
  }
}

}  // namespace casync::compll
