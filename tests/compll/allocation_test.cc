// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "base/allocation_count.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

TEST_CASE("allocation: no codec asks for memory after its first call on a thread") {
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

}  // namespace casync::compll
