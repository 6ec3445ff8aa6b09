// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "base/allocation_count.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

TEST_CASE("allocation: the usual codecs ask for no memory after their first call on a thread") {
  const Elements n = 70001;
  const std::vector<float> x = gaussian(n, 1);
  std::vector<float> residual(n), out(n);
  for (const auto& codec : all_codecs()) {
    INFO(title(*codec));
    std::vector<std::byte> payload(codec->encoded_bound(n)), merged(codec->encoded_bound(n));
    const Contribution contributions[] = {{{payload.data(), payload.size()}, nullptr}, {{}, x.data()}};
    const auto everything = [&] {
      codec->encode(x.data(), n, {nullptr, residual.data()}, {}, payload.data());
      codec->decode({payload.data(), payload.size()}, n, out.data());
      codec->merge(contributions, n, 0.5f, *codec, {nullptr, residual.data()}, {}, merged.data());
    };
    everything();
    const std::uint64_t before = allocations_of_this_thread();
    everything();
    const std::uint64_t after = allocations_of_this_thread();
    CHECK(after == before);
    CHECK((before != 0) == kAllocationsAreCounted);
  }
}

TEST_CASE("allocation: the usual codecs ask for no memory on a thread that was prepared for them") {
  const Elements n = 70001;
  const std::vector<float> x = gaussian(n, 1);
  std::vector<float> residual(n), out(n);
  for (const auto& codec : all_codecs()) {
    INFO(title(*codec));
    std::vector<std::byte> payload(codec->encoded_bound(n)), merged(codec->encoded_bound(n));
    std::uint64_t asked = 1;
    std::thread fresh([&] {
      codec->prepare_thread();
      const std::uint64_t before = allocations_of_this_thread();
      codec->encode(x.data(), n, {nullptr, residual.data()}, {}, payload.data());
      codec->decode({payload.data(), payload.size()}, n, out.data());
      const Contribution contributions[] = {{{payload.data(), payload.size()}, nullptr}, {{}, x.data()}};
      codec->merge(contributions, n, 0.5f, *codec, {nullptr, residual.data()}, {}, merged.data());
      asked = allocations_of_this_thread() - before;
    });
    fresh.join();
    CHECK(asked == 0);
  }
}

TEST_CASE("allocation: no codec of the library asks for memory once a thread has called it a few times") {
  const Elements n = 70001;
  const std::vector<float> x = gaussian(n, 1);
  for (const std::string& name : codec_names()) {
    INFO(name);
    const auto codec = codec_of(name);
    std::vector<float> kept(std::max<std::size_t>(codec->info().states, 1) * n), out(n);
    std::vector<std::byte> payload(codec->encoded_bound(n)), merged(codec->encoded_bound(n));
    const auto everything = [&] {
      const Residual residual{nullptr, kept.data(), n};
      const Encoded made = codec->encode(x.data(), n, residual, {}, payload.data());
      const ConstView code{payload.data(), made.size};
      codec->decode(code, n, out.data());
      codec->decode_add(code, n, out.data());
      const Contribution contributions[] = {{code, nullptr}, {{}, x.data()}};
      codec->merge(contributions, n, 0.5f, *codec, residual, {}, merged.data());
      if (codec->info().has_result) codec->result(out.data(), n, residual, {}, out.data());
    };
    // The memory between loops grows until one piece is large enough for each call.
    for (int call = 0; call < 4; ++call) everything();
    const std::uint64_t before = allocations_of_this_thread();
    everything();
    CHECK(allocations_of_this_thread() == before);
  }
}

}  // namespace casync::compll
