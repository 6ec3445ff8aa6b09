// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

/// Number of inputs that are nearer to zero than to the elements decoded from them.
int expansions(const Written& written, const Promises& promises) {
  int found = 0;
  for (const Elements n : {1, 2, 3, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000, 4099}) {
    for (const Input& input : inputs(n)) {
      if (!input.finite || !holds_for(promises, input.values) || norm_squared(input.values) == 0) continue;
      const double error = relative_error(input.values, round_trip(*written.codec, input.values));
      found += !(promises.on_average ? error <= 1 : error < 1);
    }
  }
  return found;
}

/// The sum over blocks of (sum |x|)^2 / count.
double l1_explained(std::span<const float> x, Elements block) {
  double explained = 0;
  for (Elements begin = 0; begin < x.size(); begin += block) {
    const std::span<const float> part = x.subspan(begin, std::min(block, x.size() - begin));
    double sum = 0;
    for (const float value : part) sum += std::fabs(static_cast<double>(value));
    explained += sum * sum / static_cast<double>(part.size());
  }
  return explained;
}

double error_of(const std::string& name, const Parameters& parameters, std::span<const float> x) {
  return relative_error(x, round_trip(*from_source(name, parameters).codec, x));
}

}  // namespace

TEST_CASE("codecs: a contractive one decodes nearer to its input than zero is") {
  int tried = 0;
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    if (!written.program->declares.contractive) continue;
    INFO(name);
    CHECK(expansions(written, promises_of(name)) == 0);
    ++tried;
  }
  CHECK(tried > 20);
}

TEST_CASE("codecs: a sign codec whose scale is that of the norm is not contractive, and this is noticed") {
  // The square root of the mean square, which sparse gradients do not bear.
  const std::string squares = changed(source_of("efsign"), "return abs(x);", "return x * x;");
  const std::string wrong = changed(squares, "return sum / in_block(index, block, gradient.size);",
                                    "return sqrt(sum / in_block(index, block, gradient.size));");
  CHECK(expansions(from_text("efsign", wrong), {}) > 0);
}

TEST_CASE("codecs: feedback is declared where the error is smaller than the input, and by what waits for a threshold") {
  const std::set<std::string> waiting = {"tbq", "twobit", "threshold", "threshold_coded", "graddrop"};
  for (const std::string& name : written_names()) {
    INFO(name);
    const Declarations declares = from_source(name).program->declares;
    if (declares.feedback && waiting.count(name) == 0) CHECK(declares.contractive);
    CHECK_FALSE((declares.feedback && declares.unbiased));
  }
}

TEST_CASE("codecs: efsign loses exactly what the mean magnitudes do not explain") {
  for (const Elements n : {1, 64, 129, 4099}) {
    for (const Input& input : inputs(n)) {
      const double norm = norm_squared(input.values);
      if (!input.finite || !holds_for({}, input.values) || norm == 0) continue;
      INFO("n " << n << ", " << input.name);
      const double lost = norm - l1_explained(input.values, 128);
      CHECK(error_of("efsign", {{"block", 128}}, input.values) * norm ==
            Approx(lost).epsilon(1e-5).margin(1e-6 * norm));
    }
  }
}

TEST_CASE("codecs: onebit loses exactly what its two means do not explain") {
  for (const std::vector<float>& x : {gaussian(4099, 1), laplace(4099, 2)}) {
    const std::vector<float> decoded = round_trip(*from_source("onebit").codec, x);
    const double norm = norm_squared(x);
    CHECK(relative_error(x, decoded) * norm == Approx(norm - norm_squared(decoded)).epsilon(1e-5));
  }
}

TEST_CASE("codecs: levels move no element by more than half a step") {
  const Elements n = 1000, block = 64;
  for (const auto& [name, most] : {std::pair<const char*, double>{"int8", 127}, {"int4", 7}, {"int2", 1}}) {
    const Written written = from_source(name, {{"block", block}});
    for (const Input& input : inputs(n)) {
      if (!input.finite) continue;
      INFO(name << ", " << input.name);
      const std::vector<float> decoded = round_trip(*written.codec, input.values);
      for (Elements begin = 0; begin < n; begin += block) {
        double top = 0, worst = 0;
        for (Elements i = begin; i < std::min(n, begin + block); ++i) {
          top = std::max(top, std::fabs(static_cast<double>(input.values[i])));
          worst = larger_error(worst, std::fabs(static_cast<double>(input.values[i]) - decoded[i]));
        }
        if (top > 1e-34) CHECK(worst <= 0.5 * top / most * (1 + 1e-4));  // less than that is kept, not scaled
      }
    }
  }
}

TEST_CASE("codecs: the mean squared error of block formats is that of theory") {
  const Elements n = 1 << 16;
  const std::vector<float> normal = gaussian(n, 1), heavy = laplace(n, 2);
  struct Row {
    const char* name;
    double block, of_normal, of_heavy;  ///< a block of 0 is the codec's own
  };
  for (const Row& row :
       {Row{"int4", 128, 0.0138, 0.0258}, Row{"int8", 128, 4.2e-5, 8.0e-5}, Row{"fp8_e4m3", 128, 6.6e-4, 6.2e-4},
        Row{"mxfp4", 0, 0.0133, 0.0175}, Row{"nvfp4", 0, 0.0091, 0.0086}, Row{"efsign", 2048, 0.364, 0.500},
        Row{"onebit", 2048, 0.364, 0.500}}) {
    INFO(row.name);
    const Parameters parameters = row.block == 0 ? Parameters() : Parameters{{"block", row.block}};
    CHECK(error_of(row.name, parameters, normal) == Approx(row.of_normal).epsilon(0.04));
    CHECK(error_of(row.name, parameters, heavy) == Approx(row.of_heavy).epsilon(0.04));
  }
}

TEST_CASE("codecs: mxfp4 cuts nothing off, which the published choice of its scale does") {
  const std::vector<float> x = gaussian(1 << 15, 3);
  const std::string published = changed(source_of("mxfp4"), "> 0x400000 ? 1 : 0", "> 0x7fffff ? 1 : 0");
  const auto lost_at_top = [&](const Written& written) {
    const std::vector<float> decoded = round_trip(*written.codec, x);
    double worst = 0;  // loss of the largest element of a block, as a part of it
    for (Elements begin = 0; begin < x.size(); begin += 32) {
      const auto* top =
          std::max_element(&x[begin], &x[begin] + 32, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
      worst = larger_error(worst, 1 - static_cast<double>(decoded[static_cast<Elements>(top - x.data())]) / *top);
    }
    return worst;
  };
  CHECK(lost_at_top(from_source("mxfp4")) <= 0.2);           // 5 scales become 4
  CHECK(lost_at_top(from_text("mxfp4", published)) > 0.24);  // nearly 8 become 6
}

}  // namespace casync::compll
