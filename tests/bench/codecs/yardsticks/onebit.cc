// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/codecs/yardsticks/code_tiles.h"
#include "tests/bench/codecs/yardsticks/layout.h"
#include "tests/bench/codecs/yardsticks/sign_loops.h"
#include "tests/bench/codecs/yardsticks/yardstick.h"

namespace casync::compll {
namespace {

class OneBit final : public Yardstick {
 public:
  explicit OneBit(const CodecInfo& info) : Yardstick(info, 2, 1) {}

  bool encode_tile(EncodePass&, const Tile& tile, const Scaled& source, float* scratch, std::byte* payload,
                   float* residual_out, Write mode) const override {
    const SignTile to{tile.count, info().block, payload + statistics_of(tile, 0), payload + statistics_of(tile, 1),
                      payload + codes_of(tile)};
    return encode_signs(to, source, scratch, residual_out, mode);
  }
  void decode_tile(const PayloadForm&, const Tile& tile, std::span<const ConstView> payloads, float* out,
                   Write mode) const override {
    const Bytes above = statistics_of(tile, 0), below = statistics_of(tile, 1);
    for_code_tiles(payloads, above, codes_of(tile), [&](std::span<const CodeTile> codes, bool first) {
      decode_signs(codes, below - above, info().block, tile.count, out, first ? mode : Write::kAdd);
    });
  }
};

}  // namespace

std::unique_ptr<Codec> make_sign_yardstick(const CodecInfo& info) { return std::make_unique<OneBit>(info); }

}  // namespace casync::compll
