// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/half.h"

#include <utility>

#include "base/dtype.h"
#include "compll/codec/code_tiles.h"
#include "compll/codec/payload.h"
#include "compll/codec/tile_codec.h"
#include "compll/ops/cpu/half.h"

namespace casync::compll {
namespace {

template <DType kType>
class Half final : public TileCodec {
 public:
  explicit Half(CodecInfo info) : info_(std::move(info)) {}

  const CodecInfo& info() const override { return info_; }
  Bytes encoded_bound(Elements n) const override { return layout(n).size; }
  Status check(ConstView payload, Elements n) const override { return check_frame(layout(n), payload).status(); }

  bool encode_tile(EncodePass&, const Tile& tile, const Scaled& source, float*, std::byte* payload, float* residual_out,
                   Write mode) const override {
    return encode_half(kType, source, tile.count, payload + codes_of(tile), residual_out, mode);
  }
  void finish(Elements n, bool finite, std::byte* payload) const override { write_frame(layout(n), finite, payload); }
  void decode_tile(const Tile& tile, std::span<const ConstView> payloads, float* out, Write mode) const override {
    for_code_tiles(payloads, 0, codes_of(tile), [&](std::span<const CodeTile> codes, bool first) {
      decode_half(kType, codes, tile.count, out, first ? mode : Write::kAdd);
    });
  }

 private:
  PayloadLayout layout(Elements n) const { return PayloadLayout::of(info_.number, info_.version, n, 1, 0, 16); }
  static Bytes codes_of(const Tile& tile) { return kHeaderBytes + tile.first * bytes_of(kType); }

  CodecInfo info_;
};

template <DType kType>
Declaration declare(const char* name, const char* summary, const char* source, std::uint8_t number) {
  CodecInfo info;
  info.name = name;
  info.summary = summary;
  info.source = source;
  info.number = number;
  info.contractive = true;
  info.bits_per_element = 16;
  info.parameters = {feedback_parameter(false)};
  return {info,
          [](const CodecInfo& filled) -> std::unique_ptr<Codec> { return std::make_unique<Half<kType>>(filled); }};
}

}  // namespace

Declaration declare_bf16() {
  return declare<DType::kBFloat16>("bf16", "rounds to bfloat16: the range of float32, 8 bits of precision",
                                   "Kalamkar et al. 2019, A Study of BFLOAT16 for Deep Learning Training", 2);
}

Declaration declare_fp16() {
  return declare<DType::kFloat16>("fp16", "rounds to float16: 11 bits of precision, infinite above 65504",
                                  "Micikevicius et al. 2018, Mixed Precision Training", 3);
}

}  // namespace casync::compll
