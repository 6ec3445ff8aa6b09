// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/gradient_samples.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>

#include "casync/patterns/sampled.h"
#include "compll/ops/cpu/convert.h"
#include "tests/support/temporary_directory.h"
#include "tools/casync/codec_figures/samples.h"
#include "tools/casync/planning/losses.h"

namespace casync::tools {
namespace {

std::string eight_bytes(std::uint64_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return eight_bytes(header.size()) + header + data;
}

std::string floats(const std::vector<float>& values, DType dtype = DType::kFloat32) {
  std::string bytes(values.size() * bytes_of(dtype), '\0');
  compll::from_float32(values.data(), values.size(), dtype, bytes.data());
  return bytes;
}

/// Gradients "a" of 6 elements, "b" of 4, "long" of 50,000.
Training training() {
  Training made;
  made.gradients = {{{"a", DType::kFloat32, {2, 3}, 0}, 0, 0},
                    {{"b", DType::kBFloat16, {4}, 0}, 0, 0},
                    {{"long", DType::kFloat32, {50'000}, 0}, 0, 0}};
  return made;
}

class Folder {
 public:
  Result<GradientSamples> read(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return read_gradient_samples(path_, training());
  }
  /// Returns the message about the file, without its path.
  std::string refusal(const std::string& content) {
    const Status status = read(content).status();
    if (status.is_ok()) return "taken";
    if (status.code() != StatusCode::kInvalidArgument || !status.message().starts_with(path_ + ": ")) {
      return "WRONG: " + status.text();
    }
    return status.message().substr(path_.size() + 2);
  }

 private:
  test::TemporaryDirectory folder_;
  std::string path_ = folder_.path() + "/gradients.safetensors";
};

const std::string kHeader = R"({"__metadata__":{"a":"step 7"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                            R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]}})";
const std::vector<float> kA{1, -2, 3, 0, 5, 6}, kB{0.5f, 1, 2, -4};
const std::string kData = floats(kA) + floats(kB, DType::kBFloat16);

std::string one(const std::string& tensor) { return file_of(R"({"a":)" + tensor + "}", floats(kA)); }

}  // namespace

TEST_CASE("gradient samples: values of every type, by name, and what is odd") {
  Folder folder;
  const Result<GradientSamples> samples = folder.read(file_of(kHeader, kData));
  REQUIRE(samples.status().text() == "OK");
  CHECK(samples->values == std::vector<std::vector<float>>{kA, kB, {}});
  REQUIRE(samples->remarks.size() == 1);
  CHECK(
      samples->remarks[0].ends_with("1 gradient has no sample, as `long`: what codecs lose of typical values counts "
                                    "there"));
  const Result<GradientSamples> strange =
      folder.read(file_of(R"({"lonk":{"dtype":"F16","shape":[],"data_offsets":[0,2]}})", "xx"));
  REQUIRE(strange.status().text() == "OK");
  REQUIRE(strange->remarks.size() == 2);
  CHECK(strange->remarks[0].ends_with("1 sample is of no gradient of the model: `lonk` (did you mean `long`?)"));
  // Zeros say nothing of what a codec loses.
  CHECK(folder.read(one(R"({"dtype":"F32","shape":[0],"data_offsets":[4,4]})"))->values[0].empty());
  CHECK(folder.read(one(R"({"dtype":"F32","shape":[1],"data_offsets":[12,16]})"))->values[0].empty());
}

TEST_CASE("gradient samples: a whole gradient is sampled where it is read") {
  const std::vector<float> values = gaussian_sample(50'000, 1);
  std::vector<float> wanted(sampled_elements(values.size()));
  for_each_sampled(values.size(), [&](Elements first, Elements count, Elements at) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), count,
                wanted.begin() + static_cast<std::ptrdiff_t>(at));
  });
  Folder folder;
  const Result<GradientSamples> samples =
      folder.read(file_of(R"({"long":{"dtype":"F32","shape":[500,100],"data_offsets":[0,200000]}})", floats(values)));
  REQUIRE(samples.status().text() == "OK");
  CHECK(samples->values[2] == wanted);
}

TEST_CASE("gradient samples: files that are not safetensors are refused, with the reason") {
  Folder folder;
  CHECK(folder.refusal("") == "cut off: 0 bytes, expected the header's length");
  CHECK(folder.refusal(eight_bytes(100) + "{}") == "cut off: a header of 100 bytes in a file of 10");
  CHECK(folder.refusal(eight_bytes(~std::uint64_t{0}) + "{}").starts_with("a header of 18446744073709551615 bytes"));
  CHECK(folder.refusal(file_of("{\"a\":", "")) == "the header is no JSON, at its byte 6");
  CHECK(folder.refusal(file_of("{\"a\":1e999}", "")).starts_with("the header is no JSON: "));
  CHECK(folder.refusal(file_of("[]", "")) == "the header is no JSON object");
  CHECK(folder.refusal(file_of(std::string(100'000, '[') + std::string(100'000, ']'), "")) ==
        "the header is no JSON object");
  CHECK(folder.refusal(one("7")) == "tensor `a`: expected an object with dtype, shape and data_offsets");
  CHECK(folder.refusal(one(R"({"dtype":"I64","shape":[1],"data_offsets":[0,8]})")) ==
        "tensor `a`: dtype is \"I64\", expected F32, F16 or BF16");
  CHECK(folder.refusal(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,8]})")) ==
        "tensor `a`: shape is [-1], expected an array of extents from 0 on, and at most 2^32 elements");
  CHECK(folder.refusal(one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"))
            .starts_with("tensor `a`: shape is [4294967296,4294967296], expected an array"));
  for (const char* offsets : {"[0,28]", "[8,4]", "[0]", "[0,8,8]", "0", "[0.5,4]", "[\"0\",4]", "[0,[]]"}) {
    const std::string text = std::string(R"({"dtype":"F32","shape":[6],"data_offsets":)") + offsets + "}";
    CHECK(folder.refusal(one(text)) ==
          std::string("tensor `a`: data_offsets are ") + offsets + ", expected a begin and an end in 24 bytes of data");
  }
  CHECK(folder.refusal(one(R"({"dtype":"F32","shape":[5],"data_offsets":[0,24]})")) ==
        "tensor `a`: shape [5] of \"F32\" takes 20 bytes, and data_offsets have 24");
  CHECK(folder.refusal(file_of(R"({"b":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})", floats(kA))) ==
        "tensor `b`: 6 elements, and the model's gradient has 4");
  CHECK(folder.refusal(file_of(kHeader, floats({1, 2, 3, NAN, 5, 6}) + floats(kB, DType::kBFloat16))) ==
        "tensor `a`: element 3 of its sample is NaN");
  CHECK(folder.refusal(file_of(kHeader, floats(kA) + floats({1, INFINITY, 1, 1}, DType::kBFloat16))) ==
        "tensor `b`: element 1 of its sample is infinite");
  CHECK(read_gradient_samples("/no/such", training()).status().message() == "/no/such: no such file");
  CHECK(read_gradient_samples("/", training()).status().message() == "/: not a file");
  const test::TemporaryDirectory directory;
  const std::string link = directory.path() + "/link";
  std::filesystem::create_symlink(link, link);
  const std::string reason = std::make_error_code(std::errc::too_many_symbolic_link_levels).message();
  CHECK(read_gradient_samples(link, training()).status().message() == link + ": " + reason);
}

TEST_CASE("gradient samples: a file that is cut off anywhere is refused, one with flipped bits taken or refused") {
  Folder folder;
  const std::string whole = file_of(kHeader, kData);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    const std::string why = folder.refusal(whole.substr(0, size));
    CHECK(why != "taken");
    CHECK_FALSE(why.starts_with("WRONG"));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = whole;
    for (int flips = 0; flips < 1 + i % 3; ++flips) changed[random() % changed.size()] ^= char(1 << random() % 8);
    INFO(i);
    CHECK_FALSE(folder.refusal(changed).starts_with("WRONG"));
  }
}

TEST_CASE("gradient samples: a file beyond 4 GiB is refused ahead of reading any of it") {
  test::TemporaryDirectory folder;
  const std::string path = folder.path() + "/large";
  std::ofstream(path) << "x";
  std::filesystem::resize_file(path, (std::uintmax_t{4} << 30) + 1);  // made of holes
  CHECK(read_gradient_samples(path, training()).status().message() ==
        path + ": 4294967297 bytes, expected at most 4 GiB");
}

TEST_CASE("losses: they are of the sample if there is one, else of typical values") {
  // Both signs of one size: one bit says it all. One element far above the others: a few bits do not.
  std::vector<float> signs(4096), spike(4096, 1e-3f);
  for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = i % 3 == 0 ? -0.5f : 0.5f;
  for (std::size_t i = 0; i < spike.size(); i += 7) spike[i] = -1e-3f;
  spike[100] = 0.03f;
  Losses typical, recorded({signs, {}, spike});
  CHECK_FALSE(typical.recorded());
  CHECK(recorded.recorded());
  const Result<CodecOffer> onebit = recorded.of({"onebit", {}});
  REQUIRE(onebit.status().text() == "OK");
  CHECK(onebit->error > 0.3);
  CHECK(onebit->error == typical.of({"onebit", {}})->error);
  CHECK(typical.of({"onebit", {}})->recorded.empty());
  CHECK(onebit->error_of(0) < 1e-6);
  CHECK(onebit->error_of(1) == onebit->error);
  CHECK(onebit->error_of(2) > 0.1);
  CHECK(recorded.of({"none", {}})->error_of(2) == 0);
  CHECK_FALSE(recorded.of({"no such", {}}).is_ok());
  // Elements that do not fit into float16 at all.
  Losses large({std::vector<float>(10, 1e6f)});
  CHECK(std::isinf(large.of({"fp16", {}})->error_of(0)));
}

}  // namespace casync::tools
