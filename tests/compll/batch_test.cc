// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/batch.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

/// Gradients of a batch, some of them of equal size one after the other, and one of no elements.
constexpr Elements kSizes[] = {256, 256, 1, 0, 300, 300, 17};

/// A gradient that is encoded as one of a batch, and alone.
struct Both {
  Both(const Codec& codec, Elements n, std::uint32_t seed)
      : values(gaussian(n, seed)), kept(gaussian(n * std::max<Elements>(codec.info().states, 1), seed + 100)) {
    left.resize(kept.size());
    out.resize(n);
    payload.resize(codec.encoded_bound(n), std::byte{0x55});
    const EncodeContext context{.seed = 3, .gradient = seed, .step = 7, .first = 0};
    job = {values.data(), n, {kept.data(), left.data(), n}, context, payload.data(), {}};
    alone = encode(codec, values, kept, job.context);
  }

  std::vector<float> values, kept, left, out;
  std::vector<std::byte> payload;
  EncodeJob job;
  Coded alone;
};

}  // namespace

TEST_CASE("batch: each gradient of one has the bytes, states and elements that it has alone") {
  for (const std::string& name : codec_names()) {
    INFO(name);
    const std::unique_ptr<Codec> codec = codec_of(name);
    std::vector<Both> all;
    for (const Elements n : kSizes) all.emplace_back(*codec, n, static_cast<std::uint32_t>(all.size()));
    all[1].values[5] = std::numeric_limits<float>::infinity();
    all[1].alone = encode(*codec, all[1].values, all[1].kept, all[1].job.context);
    std::vector<EncodeJob> encodes;
    for (const Both& each : all) encodes.push_back(each.job);
    encode_all(*codec, encodes);
    std::vector<DecodeJob> decodes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Encoded& made = encodes[i].made;
      CHECK(made.finite == all[i].alone.finite);
      all[i].payload.resize(made.size);
      CHECK(all[i].payload == all[i].alone.payload);
      if (made.finite) CHECK(same_bytes(all[i].left, all[i].alone.residual));
      decodes.push_back({{all[i].payload.data(), made.size}, all[i].values.size(), all[i].out.data()});
    }
    decode_all(*codec, decodes);
    for (const Both& each : all) CHECK(same_bytes(each.out, decode(*codec, each.alone, each.values.size())));
  }
}

}  // namespace casync::compll
