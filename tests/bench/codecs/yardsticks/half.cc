// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/half.h"
#include "base/dtype.h"
#include "tests/bench/codecs/yardsticks/code_tiles.h"
#include "tests/bench/codecs/yardsticks/layout.h"
#include "tests/bench/codecs/yardsticks/yardstick.h"

namespace casync::compll {
namespace {

template <DType kType>
class Half final : public Yardstick {
 public:
  explicit Half(const CodecInfo& info) : Yardstick(info, 0, 16) {}

  bool encode_tile(EncodePass&, const Tile& tile, const Scaled& source, float*, std::byte* payload, float* residual_out,
                   Write mode) const override {
    return encode_half(kType, source, tile.count, payload + codes_of(tile), residual_out, mode);
  }
  void decode_tile(const PayloadForm&, const Tile& tile, std::span<const ConstView> payloads, float* out,
                   Write mode) const override {
    for_code_tiles(payloads, 0, codes_of(tile), [&](std::span<const CodeTile> codes, bool first) {
      decode_half(kType, codes, tile.count, out, first ? mode : Write::kAdd);
    });
  }
};

}  // namespace

std::unique_ptr<Codec> make_half_yardstick(const CodecInfo& info) {
  if (info.name == "fp16") return std::make_unique<Half<DType::kFloat16>>(info);
  return std::make_unique<Half<DType::kBFloat16>>(info);
}

}  // namespace casync::compll
