// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/onebit.h"

#include <cmath>
#include <string>
#include <utility>

#include "compll/codec/code_tiles.h"
#include "compll/codec/payload.h"
#include "compll/codec/tile_codec.h"
#include "compll/ops/cpu/signs.h"

namespace casync::compll {
namespace {

constexpr Bytes kMeansBytes = 2 * sizeof(float);

class OneBit final : public TileCodec {
 public:
  explicit OneBit(CodecInfo info) : info_(std::move(info)) {
    info_.bits_per_element = 1 + 8.0 * kMeansBytes / static_cast<double>(info_.block);
  }

  const CodecInfo& info() const override { return info_; }
  Bytes encoded_bound(Elements n) const override { return layout(n).size; }

  Status check(ConstView payload, Elements n) const override {
    const PayloadLayout expected = layout(n);
    const Result<PayloadFlags> flags = check_frame(expected, payload);
    if (!flags.is_ok()) return flags.status();
    bool finite = true;
    for (Elements b = 0; b < expected.blocks; ++b) {
      const float above = load_float(payload.data + kHeaderBytes + b * kMeansBytes);
      const float below = load_float(payload.data + kHeaderBytes + b * kMeansBytes + sizeof(float));
      const bool is_nan = above != above && below != below;
      finite &= !is_nan;
      const bool valid = is_nan ? !flags->finite : is_mean(above) && is_mean(-below);
      if (valid) continue;
      return data_loss("payload: the means of block " + std::to_string(b) + " are " + std::to_string(above) + " and " +
                       std::to_string(below));
    }
    if (finite != flags->finite) return data_loss("payload: it is marked as not finite, but all its means are");
    return check_padding(expected, payload, n);
  }

  bool encode_tile(EncodePass&, const Tile& tile, const Scaled& source, float* scratch, std::byte* payload,
                   float* residual_out, Write mode) const override {
    const SignTile to{tile.count, info_.block, payload + means_of(tile), payload + codes_of(tile)};
    return encode_signs(to, source, scratch, residual_out, mode);
  }
  void finish(Elements n, bool finite, std::byte* payload) const override { write_frame(layout(n), finite, payload); }
  void decode_tile(const Tile& tile, std::span<const ConstView> payloads, float* out, Write mode) const override {
    for_code_tiles(payloads, means_of(tile), codes_of(tile), [&](std::span<const CodeTile> codes, bool first) {
      decode_signs(codes, info_.block, tile.count, out, first ? mode : Write::kAdd);
    });
  }

 private:
  static bool is_mean(float magnitude) { return magnitude >= 0 && std::isfinite(magnitude); }
  PayloadLayout layout(Elements n) const {
    return PayloadLayout::of(info_.number, info_.version, n, info_.block, kMeansBytes, 1);
  }
  Bytes means_of(const Tile& tile) const { return kHeaderBytes + tile.first / info_.block * kMeansBytes; }
  Bytes codes_of(const Tile& tile) const { return layout(tile.n).codes + tile.first / 8; }

  CodecInfo info_;
};

}  // namespace

Declaration declare_onebit() {
  CodecInfo info;
  info.name = "onebit";
  info.summary = "the sign of each element, as the mean of its block's elements of that sign";
  info.source = "Seide, Fu, Droppo, Li, Yu 2014, 1-Bit Stochastic Gradient Descent";
  info.number = 6;
  info.contractive = true;
  info.parameters = {block_parameter(2048, 64), feedback_parameter(true)};
  return {info, [](const CodecInfo& filled) -> std::unique_ptr<Codec> { return std::make_unique<OneBit>(filled); }};
}

}  // namespace casync::compll
