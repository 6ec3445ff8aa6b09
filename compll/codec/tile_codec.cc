// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/tile_codec.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "compll/codec/merge_bits.h"
#include "compll/codec/merge_whole.h"
#include "compll/codec/tile_memory.h"
#include "compll/ops/cpu/linear.h"

namespace casync::compll {
namespace {

// 16 KiB: with what is read and written it stays in 48 KiB. Where one pass does everything, less is better: the sum
// and the encoding of a tile are then near enough in time to overlap.
constexpr Elements kTileElements = 4096;
constexpr Elements kElementwiseTile = 1024;
constexpr std::size_t kTogether = 4;  // payloads a kernel sums in registers

// Calls body(Tile) for the n elements in order.
template <class Body>
void for_tiles(Elements n, Elements step, const Body& body) {
  for (Elements first = 0; first < n; first += step) body(Tile{n, first, std::min(step, n - first)});
}

float* offset(float* floats, Elements first) { return floats == nullptr ? nullptr : floats + first; }

}  // namespace

Elements TileCodec::tile_elements() const {
  return keeps_tiles() ? std::max(kTileElements, info().block) : kElementwiseTile;
}

void TileCodec::prepare_thread() const { memory_of(tile_elements()); }

float* TileCodec::memory_of(Elements step) const { return tile_memory(step * (1 + turned_arrays())); }

TileCodec::Kept TileCodec::kept_of(Residual residual) const {
  if (own_states() == 0) return {residual.in, residual.out, {}};
  const bool feedback = info().feedback;
  const Elements first = feedback ? residual.stride : 0;
  const GeneratedStates states = {residual.in == nullptr ? nullptr : residual.in + first, offset(residual.out, first),
                                  residual.stride};
  return {feedback ? residual.in : nullptr, feedback ? residual.out : nullptr, states};
}

Write TileCodec::mode_of(const Kept& kept, Elements n) const {
  if (!kept.is_wanted()) return Write::kPlain;
  bool streams = kept.residual_out == nullptr || residual_mode(kept.residual_out, n) == Write::kStream;
  for (std::uint32_t i = 0; i < own_states() && kept.states.out != nullptr; ++i) {
    streams = streams && residual_mode(kept.states.out + i * kept.states.stride, n) == Write::kStream;
  }
  return streams ? Write::kStream : Write::kPlain;
}

template <class TileDone>
bool TileCodec::run_passes(EncodePass& pass, bool keeps, Elements n, Elements step, std::byte* payload,
                           const TileDone& tile_done) const {
  const Passes all = passes(pass.of_sum);
  const unsigned count = keeps ? all.count : all.without_kept;
  bool finite = true;
  for (; pass.number < count; ++pass.number) {
    begin_pass(pass, n, payload);
    for_tiles(n, step, [&](const Tile& tile) { finite &= tile_done(tile); });
  }
  pass.number = all.count;
  begin_pass(pass, n, payload);
  finish(n, finite, payload);
  return finite;
}

Encoded TileCodec::encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                          std::byte* payload) const {
  return encode_scaled(false, Scaled{in}, n, residual, context, payload);
}

Encoded TileCodec::encode_sum(const float* sum, float scale, Elements n, Residual residual,
                              const EncodeContext& context, std::byte* payload) const {
  return encode_scaled(true, Scaled{sum, scale}, n, residual, context, payload);
}

Encoded TileCodec::encode_scaled(bool of_sum, Scaled source, Elements n, Residual residual,
                                 const EncodeContext& context, std::byte* payload) const {
  const Kept kept = kept_of(residual);
  const Write mode = mode_of(kept, n);
  source.residual = kept.residual_in;
  // Without statistics to wait for there is nothing to keep in the cache, and one long loop is best.
  const Elements step = keeps_tiles() ? tile_elements() : std::max<Elements>(n, 1);
  float* scratch = keeps_tiles() ? memory_of(step) : nullptr;
  EncodePass pass;
  pass.context = context;
  pass.of_sum = of_sum;
  pass.states = kept.states;
  const bool finite = run_passes(pass, kept.is_wanted(), n, step, payload, [&](const Tile& tile) {
    float* const residual_out = offset(kept.residual_out, tile.first);
    return encode_tile(pass, tile, source.from(tile.first), scratch, payload, residual_out, mode);
  });
  finish_writes(mode);
  return {encoded_bound(n), finite};
}

void TileCodec::decode_tiles(ConstView payload, Elements n, float* out, Write mode) const {
  CASYNC_CHECK(payload.size == encoded_bound(n));
  if (n != 0) decode_tile(Tile{n, 0, n}, {&payload, 1}, out, mode);
  finish_writes(mode);
}

void TileCodec::decode(ConstView payload, Elements n, float* out) const {
  decode_tiles(payload, n, out, decoded_mode(out, n));
}

void TileCodec::decode_add(ConstView payload, Elements n, float* out) const {
  decode_tiles(payload, n, out, Write::kAdd);
}

// Codes that follow one another are summed in registers; raw elements are one pass over the tile.
void TileCodec::sum_tile(const Tile& tile, std::span<const Contribution> contributions, float* out) const {
  for (std::size_t i = 0; i < contributions.size();) {
    const Write mode = i == 0 ? Write::kPlain : Write::kAdd;
    std::array<ConstView, kTogether> codes;
    std::size_t size = 0;
    while (size < kTogether && i < contributions.size() && contributions[i].raw == nullptr) {
      codes[size++] = contributions[i++].code;
    }
    if (size != 0) {
      decode_tile(tile, {codes.data(), size}, out, mode);
    } else {
      const float* raw = contributions[i++].raw + tile.first;
      mode == Write::kAdd ? add_values(raw, tile.count, out) : copy_values(raw, tile.count, out, mode);
    }
  }
}

Encoded TileCodec::merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                         Residual residual, const EncodeContext& context, std::byte* payload) const {
  CASYNC_CHECK(!contributions.empty());
  for (const Contribution& c : contributions)
    CASYNC_CHECK(n == 0 || c.raw != nullptr || c.code.size == encoded_bound(n));
  const auto* encoder = dynamic_cast<const TileCodec*>(&second);
  if (encoder == nullptr) return merge_whole(*this, contributions, n, scale, second, residual, context, payload);
  const auto by_bits = merge_bits(*this, contributions, n, scale, *encoder, residual, context, payload);
  if (by_bits) return *by_bits;
  class Sums final : public TileSums {
   public:
    Sums(const TileCodec& codec, std::span<const Contribution> terms) : codec_(codec), terms_(terms) {}
    void sum(const Tile& tile, float* out) override { codec_.sum_tile(tile, terms_, out); }

   private:
    const TileCodec& codec_;
    std::span<const Contribution> terms_;
  } sums(*this, contributions);
  return encoder->encode_sums(sums, tile_elements(), n, scale, residual, context, payload);
}

Encoded TileCodec::encode_sums(TileSums& sums, Elements least_step, Elements n, float scale, Residual residual,
                               const EncodeContext& context, std::byte* payload) const {
  const Elements step = std::max(least_step, tile_elements());
  const Kept kept = kept_of(residual);
  const Write mode = mode_of(kept, n);
  float* sum = memory_of(step);
  EncodePass pass;
  pass.context = context;
  pass.of_sum = true;
  pass.states = kept.states;
  const bool finite = run_passes(pass, kept.is_wanted(), n, step, payload, [&](const Tile& tile) {
    sums.sum(tile, sum);
    const Scaled source{sum, scale, kept.residual_in == nullptr ? nullptr : kept.residual_in + tile.first};
    return encode_tile(pass, tile, source, sum, payload, offset(kept.residual_out, tile.first), mode);
  });
  finish_writes(mode);
  return {encoded_bound(n), finite};
}

}  // namespace casync::compll
