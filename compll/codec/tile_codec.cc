// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/tile_codec.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/fetch.h"
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

// Calls body(first, end) for jobs of the same n that follow one another.
template <class Job, class Body>
void for_equal(std::span<Job> jobs, const Body& body) {
  for (std::size_t first = 0, end = 0; first < jobs.size(); first = end) {
    while (end < jobs.size() && jobs[end].n == jobs[first].n) ++end;
    body(first, end);
  }
}

void fetch(const EncodeJob& job) {
  const Bytes bytes = job.n * sizeof(float);
  fetch_first<false>(job.in, bytes);
  if (job.residual.in != nullptr) fetch_first<false>(job.residual.in, bytes);
  if (job.residual.out != nullptr) fetch_first<true>(job.residual.out, bytes);
}

void fetch(const DecodeJob& job) { fetch_first<true>(job.out, job.n * sizeof(float)); }

}  // namespace

KeptArrays::KeptArrays(const CodecInfo& info, Residual residual) : own_count_(info.states - (info.feedback ? 1 : 0)) {
  if (own_count_ == 0 || info.feedback) {
    residual_in_ = residual.in;
    residual_out_ = residual.out;
  }
  if (own_count_ == 0) return;
  const Elements first = info.feedback ? residual.stride : 0;
  own_ = {residual.in == nullptr ? nullptr : residual.in + first, offset(residual.out, first), residual.stride};
}

bool KeptArrays::own_stream(Elements n) const {
  for (std::uint32_t i = 0; i < own_count_ && own_.out != nullptr; ++i) {
    if (residual_mode(own_.out + i * own_.stride, n) != Write::kStream) return false;
  }
  return true;
}

Write KeptArrays::mode_of_own(Elements n) const {
  return own_.out != nullptr && own_stream(n) ? Write::kStream : Write::kPlain;
}

Write KeptArrays::mode(Elements n) const {
  if (residual_out_ == nullptr) return mode_of_own(n);
  return residual_mode(residual_out_, n) == Write::kStream && own_stream(n) ? Write::kStream : Write::kPlain;
}

Elements TileCodec::tile_elements() const {
  return keeps_tiles() ? std::max(kTileElements, info().block) : kElementwiseTile;
}

void TileCodec::prepare_thread() const { memory_of(tile_elements()); }

float* TileCodec::memory_of(Elements step) const { return tile_memory(step * (1 + rotated_arrays())); }

template <class TileDone>
bool TileCodec::run_passes(EncodePass& pass, bool keeps, Elements step, std::byte* payload,
                           const TileDone& tile_done) const {
  const Passes all = passes(pass.of_sum);
  const unsigned count = keeps ? all.count : all.without_kept;
  bool finite = true;
  for (pass.number = 0; pass.number < count; ++pass.number) {
    begin_pass(pass, payload);
    for_tiles(pass.form->layout.n, step, [&](const Tile& tile) { finite &= tile_done(tile); });
  }
  pass.number = all.count;
  begin_pass(pass, payload);
  finish(*pass.form, finite, payload);
  return finite;
}

Encoded TileCodec::encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                          std::byte* payload) const {
  EncodeJob job{in, n, residual, context, payload, {}};
  encode_each({}, {&job, 1});
  return job.made;
}

Encoded TileCodec::encode_sum(const float* sum, float scale, Elements n, Residual residual,
                              const EncodeContext& context, std::byte* payload) const {
  EncodeJob job{sum, n, residual, context, payload, {}};
  encode_each(scale, {&job, 1});
  return job.made;
}

void TileCodec::encode_each(std::optional<float> scale_of_sums, std::span<EncodeJob> jobs) const {
  const bool keeps = keeps_tiles();
  const Elements tile = tile_elements();
  float* const scratch = keeps ? memory_of(tile) : nullptr;
  EncodePass pass;
  pass.of_sum = scale_of_sums.has_value();
  for_equal(jobs, [&](std::size_t first, std::size_t end) {
    const PayloadForm form = this->form(jobs[first].n);
    const Elements n = form.layout.n;
    pass.form = &form;
    // Without statistics to wait for there is nothing to keep in the cache, and one long loop is best.
    const Elements step = keeps ? tile : std::max<Elements>(n, 1);
    for (std::size_t i = first; i < end; ++i) {
      if (i + 1 < end) fetch(jobs[i + 1]);
      EncodeJob& job = jobs[i];
      const KeptArrays kept(info(), job.residual);
      const Write mode = kept.mode(n);
      const Scaled source{job.in, scale_of_sums.value_or(1), kept.residual_in()};
      pass.context = job.context;
      pass.states = kept.own();
      const bool finite = run_passes(pass, kept.are_wanted(), step, job.payload, [&](const Tile& each) {
        float* const residual_out = offset(kept.residual_out(), each.first);
        return encode_tile(pass, each, source.from(each.first), scratch, job.payload, residual_out, mode);
      });
      finish_writes(mode);
      job.made = {form.layout.size, finite};
    }
  });
}

void TileCodec::decode_each(std::span<const DecodeJob> jobs, bool adds) const {
  for_equal(jobs, [&](std::size_t first, std::size_t end) {
    const PayloadForm form = this->form(jobs[first].n);
    const Elements n = form.layout.n;
    for (std::size_t i = first; i < end; ++i) {
      if (i + 1 < end) fetch(jobs[i + 1]);
      const DecodeJob& job = jobs[i];
      CASYNC_CHECK(job.payload.size == form.layout.size);
      const Write mode = adds ? Write::kAdd : decoded_mode(job.out, n);
      if (n != 0) decode_tile(form, Tile{n, 0, n}, {&job.payload, 1}, job.out, mode);
      finish_writes(mode);
    }
  });
}

void TileCodec::decode(ConstView payload, Elements n, float* out) const {
  const DecodeJob job{payload, n, out};
  decode_each({&job, 1}, false);
}

void TileCodec::decode_add(ConstView payload, Elements n, float* out) const {
  const DecodeJob job{payload, n, out};
  decode_each({&job, 1}, true);
}

// Codes that follow one another are summed in registers; raw elements are one pass over the tile.
void TileCodec::sum_tile(const PayloadForm& form, const Tile& tile, std::span<const Contribution> contributions,
                         float* out) const {
  for (std::size_t i = 0; i < contributions.size();) {
    const Write mode = i == 0 ? Write::kPlain : Write::kAdd;
    std::array<ConstView, kTogether> codes;
    std::size_t size = 0;
    while (size < kTogether && i < contributions.size() && contributions[i].raw == nullptr) {
      codes[size++] = contributions[i++].code;
    }
    if (size != 0) {
      decode_tile(form, tile, {codes.data(), size}, out, mode);
    } else {
      const float* raw = contributions[i++].raw + tile.first;
      mode == Write::kAdd ? add_values(raw, tile.count, out) : copy_values(raw, tile.count, out, mode);
    }
  }
}

Encoded TileCodec::merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                         Residual residual, const EncodeContext& context, std::byte* payload) const {
  CASYNC_CHECK(!contributions.empty());
  const PayloadForm form = this->form(n);
  for (const Contribution& c : contributions)
    CASYNC_CHECK(n == 0 || c.raw != nullptr || c.code.size == form.layout.size);
  const auto* encoder = dynamic_cast<const TileCodec*>(&second);
  if (encoder == nullptr) return merge_whole(*this, contributions, n, scale, second, residual, context, payload);
  const auto by_bits = merge_bits(*this, contributions, n, scale, *encoder, residual, context, payload);
  if (by_bits) return *by_bits;
  class Sums final : public TileSums {
   public:
    Sums(const TileCodec& codec, const PayloadForm& form, std::span<const Contribution> terms)
        : codec_(codec), form_(form), terms_(terms) {}
    void sum(const Tile& tile, float* out) override { codec_.sum_tile(form_, tile, terms_, out); }

   private:
    const TileCodec& codec_;
    const PayloadForm& form_;
    std::span<const Contribution> terms_;
  } sums(*this, form, contributions);
  return encoder->encode_sums(sums, tile_elements(), n, scale, residual, context, payload);
}

Encoded TileCodec::encode_sums(TileSums& sums, Elements least_step, Elements n, float scale, Residual residual,
                               const EncodeContext& context, std::byte* payload) const {
  const Elements step = std::max(least_step, tile_elements());
  const PayloadForm form = this->form(n);
  const KeptArrays kept(info(), residual);
  const Write mode = kept.mode(n);
  float* sum = memory_of(step);
  EncodePass pass;
  pass.form = &form;
  pass.context = context;
  pass.of_sum = true;
  pass.states = kept.own();
  const bool finite = run_passes(pass, kept.are_wanted(), step, payload, [&](const Tile& tile) {
    sums.sum(tile, sum);
    const Scaled source{sum, scale, kept.residual_in() == nullptr ? nullptr : kept.residual_in() + tile.first};
    return encode_tile(pass, tile, source, sum, payload, offset(kept.residual_out(), tile.first), mode);
  });
  finish_writes(mode);
  return {form.layout.size, finite};
}

}  // namespace casync::compll
