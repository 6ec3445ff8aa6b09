// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/none.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "compll/codec/tile_codec.h"
#include "compll/codec/tile_memory.h"
#include "compll/ops/cpu/linear.h"

namespace casync::compll {
namespace {

// Payloads may lie at any address: the kernels load and store unaligned, so the cast is only a name.
float* floats(std::byte* payload) { return reinterpret_cast<float*>(payload); }
const float* floats(const std::byte* payload) { return reinterpret_cast<const float*>(payload); }

const float* floats(const Contribution& contribution, Bytes size) {
  if (contribution.raw != nullptr) return contribution.raw;
  CASYNC_CHECK(contribution.code.size == size);
  return floats(contribution.code.data);
}

class None : public TileCodec {
 public:
  explicit None(CodecInfo info) : info_(std::move(info)) {}

  const CodecInfo& info() const override { return info_; }
  Bytes encoded_bound(Elements n) const override { return n * sizeof(float); }
  PayloadForm form(Elements n) const override { return {{}, {.n = n, .size = encoded_bound(n)}}; }

  Status check(ConstView payload, Elements n) const override {
    if (payload.size == encoded_bound(n)) return Status::ok();
    return data_loss("payload: its size in bytes is " + std::to_string(payload.size) + ", expected " +
                     std::to_string(encoded_bound(n)));
  }

  bool encode_tile(EncodePass&, const Tile& tile, const Scaled& source, float*, std::byte* payload, float* residual_out,
                   Write) const override {
    if (residual_out != nullptr) std::fill_n(residual_out, tile.count, 0.0f);
    return store_scaled(source, tile.count, floats(payload + tile.first * sizeof(float)), Write::kPlain);
  }
  void finish(const PayloadForm&, bool, std::byte*) const override {}

  void decode_tile(const PayloadForm&, const Tile& tile, std::span<const ConstView> payloads, float* out,
                   Write mode) const override {
    for (const ConstView& payload : payloads) {
      const float* values = floats(payload.data + tile.first * sizeof(float));
      mode == Write::kAdd ? add_values(values, tile.count, out) : copy_values(values, tile.count, out, mode);
      mode = Write::kAdd;
    }
  }

  // A sum for another identity needs no tile between: it goes from registers to its place. Some terms only: the
  // prefetchers follow a handful of streams, and all terms are read by the time that any may be overwritten.
  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override {
    constexpr std::size_t kTerms = 16;
    if (!second.info().identity || contributions.size() > kTerms || n == 0) {
      return TileCodec::merge(contributions, n, scale, second, residual, context, payload);
    }
    CASYNC_CHECK(!contributions.empty());
    std::array<const float*, kTerms> terms;
    const auto end = std::transform(contributions.begin(), contributions.end(), terms.begin(),
                                    [&](const Contribution& c) { return floats(c, encoded_bound(n)); });
    const bool in_place = std::find(terms.begin(), end, floats(payload)) != end;
    const Write mode = in_place ? Write::kPlain : decoded_mode(floats(payload), n);
    const bool finite = sum_scaled({terms.data(), contributions.size()}, scale, residual.in, n, floats(payload), mode);
    if (residual.out != nullptr) std::fill_n(residual.out, n, 0.0f);
    finish_writes(mode);
    return {encoded_bound(n), finite};
  }

 private:
  CodecInfo info_;
};

class Greatest final : public None {
 public:
  using None::None;

  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext&, std::byte* payload) const override {
    CASYNC_CHECK(scale == 1 && second.info().identity && residual.in == nullptr && residual.out == nullptr);
    float* const out = floats(payload);
    bool finite = true;
    for (Elements i = 0; i < n; ++i) {  // `out` may be one of the terms
      float top = floats(contributions.front(), encoded_bound(n))[i];
      for (const Contribution& each : contributions.subspan(1)) {
        const float other = floats(each, encoded_bound(n))[i];
        if (other > top || std::isnan(other)) top = other;
      }
      out[i] = top;
      finite = finite && std::isfinite(top);
    }
    return {encoded_bound(n), finite};
  }
};

CodecInfo info_of_identity() {
  CodecInfo info;
  info.name = "none";
  info.summary = "sends the float32 elements as they are";
  info.source = "the identity";
  info.number = 1;
  info.identity = true;
  info.exact_merge = true;
  info.contractive = true;
  return info;
}

}  // namespace

std::unique_ptr<Codec> make_none() { return std::make_unique<None>(info_of_identity()); }

std::unique_ptr<Codec> make_greatest() {
  CodecInfo info = info_of_identity();
  info.name = kGreatestIdentity;
  return std::make_unique<Greatest>(std::move(info));
}

}  // namespace casync::compll
