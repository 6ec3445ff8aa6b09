// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "base/allocation_count.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

/// All calls of a codec on one gradient, with the memory that they need.
class CodecCalls {
 public:
  explicit CodecCalls(const Codec& codec)
      : codec_(codec),
        kept_(std::max<std::size_t>(codec.info().states, 1) * kElements),
        out_(kElements),
        payload_(codec.encoded_bound(kElements)),
        merged_(codec.encoded_bound(kElements)) {}

  /// Makes each call once. Returns the number of allocations of this thread meanwhile.
  std::uint64_t make() {
    const std::uint64_t before = allocations_of_this_thread();
    const Residual residual{nullptr, kept_.data(), kElements};
    const Encoded made = codec_.encode(gradient_.data(), kElements, residual, {}, payload_.data());
    const ConstView code{payload_.data(), made.size};
    codec_.decode(code, kElements, out_.data());
    codec_.decode_add(code, kElements, out_.data());
    const Contribution contributions[] = {{code, nullptr}, {{}, gradient_.data()}};
    codec_.merge(contributions, kElements, 0.5f, codec_, residual, {}, merged_.data());
    if (codec_.info().has_result) codec_.result(out_.data(), kElements, residual, {}, out_.data());
    return allocations_of_this_thread() - before;
  }

 private:
  static constexpr Elements kElements = 70001;

  const Codec& codec_;
  const std::vector<float> gradient_ = gaussian(kElements, 1);
  std::vector<float> kept_, out_;
  std::vector<std::byte> payload_, merged_;
};

}  // namespace

TEST_CASE("allocation: the usual codecs ask for no memory after their first call on a thread") {
  for (const auto& codec : all_codecs()) {
    INFO(title(*codec));
    CodecCalls calls(*codec);
    calls.make();
    CHECK(calls.make() == 0);
  }
  CHECK((allocations_of_this_thread() != 0) == kAllocationsAreCounted);
}

TEST_CASE("allocation: the usual codecs ask for no memory on a thread that was prepared for them") {
  for (const auto& codec : all_codecs()) {
    INFO(title(*codec));
    CodecCalls calls(*codec);
    std::uint64_t asked = 1;
    std::thread fresh([&] {
      codec->prepare_thread();
      asked = calls.make();
    });
    fresh.join();
    CHECK(asked == 0);
  }
}

TEST_CASE("allocation: no codec of the library asks for memory once a thread has called it a few times") {
  for (const std::string& name : codec_names()) {
    INFO(name);
    const auto codec = codec_of(name);
    CodecCalls calls(*codec);
    // The memory between loops grows until one piece is large enough for each call.
    for (int call = 0; call < 4; ++call) calls.make();
    CHECK(calls.make() == 0);
  }
}

}  // namespace casync::compll
