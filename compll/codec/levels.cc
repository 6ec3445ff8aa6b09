// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/levels.h"

#include <string>
#include <utility>

#include "compll/codec/code_tiles.h"
#include "compll/codec/payload.h"
#include "compll/codec/tile_codec.h"
#include "compll/ops/cpu/levels.h"
#include "compll/ops/levels.h"

namespace casync::compll {
namespace {

template <LevelBits kBits>
class Levels final : public TileCodec {
 public:
  explicit Levels(CodecInfo info) : info_(std::move(info)) {
    info_.bits_per_element = kBitsPerCode + 8.0 * sizeof(float) / static_cast<double>(info_.block);
  }

  const CodecInfo& info() const override { return info_; }
  Bytes encoded_bound(Elements n) const override { return layout(n).size; }

  Status check(ConstView payload, Elements n) const override {
    const PayloadLayout expected = layout(n);
    const Result<PayloadFlags> flags = check_frame(expected, payload);
    if (!flags.is_ok()) return flags.status();
    bool finite = true;
    for (Elements b = 0; b < expected.blocks; ++b) {
      const float scale = load_float(payload.data + kHeaderBytes + b * sizeof(float));
      const bool is_nan = scale != scale;
      finite &= !is_nan;
      const bool valid = is_nan ? !flags->finite : is_scale(scale);
      if (!valid) return data_loss("payload: the scale of block " + std::to_string(b) + " is " + std::to_string(scale));
    }
    if (finite != flags->finite) return data_loss("payload: it is marked as not finite, but all its scales are");
    return check_padding(expected, payload, n * kBitsPerCode);
  }

  bool encode_tile(EncodePass&, const Tile& tile, const Scaled& source, float* scratch, std::byte* payload,
                   float* residual_out, Write mode) const override {
    const PayloadLayout at = layout(tile.n);
    const LevelTile to{tile.count, info_.block, payload + scales_of(tile), payload + at.codes + codes_of(tile)};
    return encode_levels(kBits, to, source, scratch, residual_out, mode);
  }
  void finish(Elements n, bool finite, std::byte* payload) const override { write_frame(layout(n), finite, payload); }
  void decode_tile(const Tile& tile, std::span<const ConstView> payloads, float* out, Write mode) const override {
    const Bytes codes_at = layout(tile.n).codes + codes_of(tile);
    for_code_tiles(payloads, scales_of(tile), codes_at, [&](std::span<const CodeTile> codes, bool first) {
      decode_levels(kBits, codes, info_.block, tile.count, out, first ? mode : Write::kAdd);
    });
  }

 private:
  static constexpr unsigned kBitsPerCode = static_cast<unsigned>(kBits);

  static bool is_scale(float scale) {
    return std::bit_cast<std::uint32_t>(scale) == 0 ||
           (scale >= kLeastScale && std::bit_cast<std::uint32_t>(scale) < kFloat32Infinity);
  }
  PayloadLayout layout(Elements n) const {
    return PayloadLayout::of(info_.number, info_.version, n, info_.block, sizeof(float), kBitsPerCode);
  }
  Bytes scales_of(const Tile& tile) const { return kHeaderBytes + tile.first / info_.block * sizeof(float); }
  static Bytes codes_of(const Tile& tile) { return tile.first * kBitsPerCode / 8; }

  CodecInfo info_;
};

template <LevelBits kBits>
Declaration declare(const char* name, const char* summary, std::uint8_t number, Elements block) {
  CodecInfo info;
  info.name = name;
  info.summary = summary;
  info.source = "Dettmers et al. 2022, 8-bit Optimizers via Block-wise Quantization";
  info.number = number;
  info.contractive = true;
  info.parameters = {block_parameter(block, 16), feedback_parameter(true)};
  return {info,
          [](const CodecInfo& filled) -> std::unique_ptr<Codec> { return std::make_unique<Levels<kBits>>(filled); }};
}

}  // namespace

Declaration declare_int8() {
  return declare<LevelBits::k8>("int8", "255 levels between minus and plus the largest magnitude of a block", 4, 256);
}

Declaration declare_int4() {
  return declare<LevelBits::k4>("int4", "15 levels between minus and plus the largest magnitude of a block", 5, 128);
}

}  // namespace casync::compll
