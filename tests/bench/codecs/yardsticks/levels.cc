// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/codecs/yardsticks/code_tiles.h"
#include "tests/bench/codecs/yardsticks/layout.h"
#include "tests/bench/codecs/yardsticks/level_loops.h"
#include "tests/bench/codecs/yardsticks/yardstick.h"

namespace casync::compll {
namespace {

template <LevelBits kBits>
class Levels final : public Yardstick {
 public:
  explicit Levels(const CodecInfo& info) : Yardstick(info, 1, static_cast<unsigned>(kBits)) {}

  bool encode_tile(EncodePass&, const Tile& tile, const Scaled& source, float* scratch, std::byte* payload,
                   float* residual_out, Write mode) const override {
    const LevelTile to{tile.count, info().block, payload + statistics_of(tile), payload + codes_of(tile)};
    return encode_levels(kBits, to, source, scratch, residual_out, mode);
  }
  void decode_tile(const PayloadForm&, const Tile& tile, std::span<const ConstView> payloads, float* out,
                   Write mode) const override {
    for_code_tiles(payloads, statistics_of(tile), codes_of(tile), [&](std::span<const CodeTile> codes, bool first) {
      decode_levels(kBits, codes, info().block, tile.count, out, first ? mode : Write::kAdd);
    });
  }
};

}  // namespace

std::unique_ptr<Codec> make_level_yardstick(const CodecInfo& info) {
  if (info.name == "int4") return std::make_unique<Levels<LevelBits::k4>>(info);
  return std::make_unique<Levels<LevelBits::k8>>(info);
}

}  // namespace casync::compll
