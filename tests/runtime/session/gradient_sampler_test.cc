// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/gradient_sampler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/allocation_count.h"
#include "casync/patterns/sampled.h"
#include "compll/ops/cpu/convert.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

GradientSpec spec_of(const std::string& name, std::size_t elements, DType dtype = DType::kFloat32) {
  return {name, dtype, {static_cast<std::int64_t>(elements)}, 0};
}

ConstView bytes_of_values(const std::vector<float>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)};
}

std::vector<float> sample_of(const GradientSampler& sampler, std::size_t gradient) {
  const std::span<const float> sample = sampler.sample(gradient);
  return {sample.begin(), sample.end()};
}

/// The elements of `values` at the places of a sample.
std::vector<float> sampled(const std::vector<float>& values) {
  std::vector<float> sample;
  for_each_sampled(values.size(), [&](Elements first, Elements count, Elements) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    sample.insert(sample.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  });
  return sample;
}

struct File {
  nlohmann::json header;
  std::map<std::string, std::vector<float>> samples;
};

/// Reads the file as the format is described, with none of our code. Empty: there is no file.
File read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.empty()) return {};
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  File file{nlohmann::json::parse(text.substr(8, length)), {}};
  for (const auto& [name, tensor] : file.header.items()) {
    if (name == "__metadata__") continue;
    const std::size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1], elements = tensor["shape"][0];
    std::vector<float>& values = file.samples[name];
    values.resize(elements);
    if (tensor["dtype"] != "F32" || end - begin != elements * 4 || 8 + length + end > text.size()) return {};
    std::memcpy(values.data(), text.data() + 8 + length + begin, end - begin);
  }
  return file;
}

}  // namespace

TEST_CASE("sampled: pieces are whole, in order and in the gradient; a short gradient is its own sample") {
  const Elements all = kSampledPieces * kSampledPiece;
  for (const Elements n : {Elements{0}, Elements{1}, Elements{4096}, Elements{4097}, all - 1, all, all + 1, all + 5000,
                           Elements{1'000'003}, Elements{1} << 40}) {
    Elements covered = 0, end = 0;
    bool right = true;
    for_each_sampled(n, [&](Elements first, Elements count, Elements at) {
      right = right && first >= end && at == covered && first % kSampledPiece == 0;
      right = right && (count == kSampledPiece || first + count == n);
      end = first + count;
      covered += count;
    });
    INFO(n);
    CHECK(right);
    CHECK(end <= n);
    CHECK(n - end < 2 * kSampledPiece);  // from its beginning to its end
    CHECK(covered == sampled_elements(n));
    CHECK(covered == std::min(n, all));
  }
}

TEST_CASE("gradient sampler: submissions 1, 2, 4, 8 are taken, each gradient's own, and the last one counts") {
  GradientSampler sampler;
  CHECK(sampler.empty());
  const GradientSpec spec = spec_of("g", 3);
  float last = 0;
  for (int i = 1; i <= 20; ++i) {
    const auto value = static_cast<float>(i);
    sampler.submitted(1, spec, bytes_of_values({value, value, value}), static_cast<std::uint32_t>(i));
    if (i == 1 || i == 2 || i == 4 || i == 8 || i == 16) last = value;
    CHECK(sample_of(sampler, 1) == std::vector<float>(3, last));
  }
  sampler.submitted(0, spec, bytes_of_values({7, 7, 7}), 21);
  CHECK(sample_of(sampler, 0) == std::vector<float>(3, 7));
  CHECK(sample_of(sampler, 2).empty());
  CHECK_FALSE(sampler.empty());
}

TEST_CASE("gradient sampler: a sample with NaN or infinity, or of zeros, leaves the older one") {
  GradientSampler sampler;
  const GradientSpec spec = spec_of("g", 2);
  sampler.submitted(0, spec, bytes_of_values({0, 0}), 0);
  CHECK(sampler.empty());
  sampler.submitted(0, spec, bytes_of_values({1, 2}), 1);
  sampler.submitted(0, spec, bytes_of_values({5, 5}), 2);
  for (const float bad : {std::nanf(""), -INFINITY, 0.0f}) {
    GradientSampler one = sampler;
    one.submitted(0, spec, bytes_of_values({0, bad}), 3);
    CHECK(sample_of(one, 0) == std::vector<float>{1, 2});
  }
  sampler.submitted(0, spec, bytes_of_values({0, 3}), 3);
  CHECK(sample_of(sampler, 0) == std::vector<float>{0, 3});
}

TEST_CASE("gradient sampler: half precision is widened, long gradients are sampled in pieces") {
  const std::vector<float> values = contribution(0, 100'000, 1);
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    std::vector<std::byte> halves(values.size() * bytes_of(dtype));
    compll::from_float32(values.data(), values.size(), dtype, halves.data());
    std::vector<float> wanted(values.size());
    compll::to_float32(dtype, halves.data(), values.size(), wanted.data());
    GradientSampler sampler;
    sampler.submitted(0, spec_of("g", values.size(), dtype), {halves.data(), halves.size()}, 0);
    CHECK(sample_of(sampler, 0) == sampled(wanted));
  }
}

TEST_CASE("gradient sampler: nothing is allocated after each gradient's first sample") {
  GradientSampler sampler;
  const std::vector<float> long_one = contribution(0, 50'000, 1), short_one = contribution(0, 100, 1);
  const GradientSpec a = spec_of("a", short_one.size()), b = spec_of("b", long_one.size());
  std::uint64_t before = 0;
  for (std::uint32_t step = 0; step < 100; ++step) {
    if (step == 1) before = allocations_of_this_thread();
    sampler.submitted(0, a, bytes_of_values(short_one), step);
    sampler.submitted(1, b, bytes_of_values(long_one), step);
  }
  CHECK(allocations_of_this_thread() - before == 0);
}

TEST_CASE("gradient sampler: a file that says which step, and how large the gradient is") {
  GradientSampler sampler;
  const std::vector<float> long_one = contribution(0, 50'000, 1);
  const std::vector<GradientSpec> specs{spec_of("never", 5), spec_of("a \"b\" \xff", 1), spec_of("__metadata__", 1),
                                        spec_of("long", 50'000), spec_of("forgotten", 1)};
  for (const std::size_t i : {1, 2, 4}) sampler.submitted(i, specs[i], bytes_of_values({1.5f}), 3);
  sampler.submitted(3, specs[3], bytes_of_values(long_one), 4);
  sampler.forget(4);
  TemporaryDirectory folder;
  const std::string path = folder.path() + "/g.safetensors";
  REQUIRE(sampler.write(path, specs).text() == "OK");
  const File file = read(path);
  REQUIRE(file.samples.size() == 2);
  CHECK(file.samples.at("long") == sampled(long_one));
  CHECK(file.samples.begin()->second == std::vector<float>{1.5f});
  CHECK(file.header["__metadata__"]["long"] == "step 4, 16384 of 50000 elements");
  CHECK(sampler.write(folder.path() + "/no/such", specs).code() == StatusCode::kUnavailable);
}

namespace {

/// Rank 0's record of two ranks that train one gradient for `steps` steps: contribution(rank, 5000, step).
File recorded_file(const std::string& plan, int steps, bool record = true) {
  TemporaryDirectory folder;
  std::ofstream(folder.path() + "/plan.txtpb") << "version: 1\n" << plan;
  const std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = folder.path() + "/plan.txtpb";
        if (record) options.record_directory = folder.path() + "/record";
      },
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 5000);
        if (!id) return id.status().text();
        for (int step = 0; step < steps; ++step) {
          std::vector<float> values = contribution(context.rank, 5000, static_cast<std::uint32_t>(step));
          const bool idle = session.exchanged() == Exchanged::kNothing;
          if (!idle) {
            if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
          }
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
        }
        return "";
      });
  CHECK(complaints == "");
  if (!record) CHECK_FALSE(std::filesystem::exists(folder.path() + "/record"));
  return read(folder.path() + "/record/gradients.safetensors");
}

}  // namespace

TEST_CASE("session: with a record directory, rank 0 writes what it submitted, not yet reduced") {
  const File file = recorded_file("default { codec { name: \"onebit\" } }\n", 6);
  REQUIRE(file.samples.size() == 1);
  CHECK(file.samples.at("weight") == contribution(0, 5000, 3));  // the fourth submission
  CHECK(file.header["__metadata__"]["weight"] == "step 3, 5000 of 5000 elements");
  CHECK(recorded_file("default { codec { name: \"onebit\" } }\n", 2, false).samples.empty());
}

TEST_CASE("session: in local SGD the differences are sampled, with staleness what the program submitted") {
  // Differences are submitted in steps 3, 5, 7, 9: the fourth of them counts.
  const File local = recorded_file("local_sgd { every: 2 from_step: 2 }\n", 11);
  REQUIRE(local.samples.size() == 1);
  CHECK(local.samples.at("weight") == contribution(0, 5000, 9));
  const File late = recorded_file("staleness: 1\n", 5);
  REQUIRE(late.samples.size() == 1);
  CHECK(late.samples.at("weight") == contribution(0, 5000, 3));
}
