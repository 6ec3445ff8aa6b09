// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "compll/codec/batch.h"
#include "compll/codec/codec.h"
#include "compll/codec/sections.h"
#include "compll/ops/generated.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// A part of a gradient that stays in the first-level cache while all work on it is done.
struct Tile {
  Elements n = 0;      ///< of the whole payload
  Elements first = 0;  ///< a multiple of tile_elements()
  Elements count = 0;
};

/// A sum that is made tile by tile, more than once if an encoder has several passes.
class TileSums {
 public:
  /// out = the tile's elements.
  virtual void sum(const Tile& tile, float* out) = 0;

 protected:
  ~TileSums() = default;
};

/// The arrays of an encoding that last from step to step: the residual, and the codec's own. A caller may give a
/// residual to any codec that has no states of its own.
class KeptArrays {
 public:
  KeptArrays(const CodecInfo& info, Residual residual);

  const float* residual_in() const { return residual_in_; }
  float* residual_out() const { return residual_out_; }
  const GeneratedStates& own() const { return own_; }
  bool are_wanted() const { return residual_out_ != nullptr || own_.out != nullptr; }
  /// The mode in which all of them, of n elements, are written.
  Write mode(Elements n) const;
  /// The same for the codec's own alone.
  Write mode_of_own(Elements n) const;

 private:
  bool own_stream(Elements n) const;

  std::uint32_t own_count_;
  const float* residual_in_ = nullptr;
  float* residual_out_ = nullptr;
  GeneratedStates own_;
};

/// The state that an encoding keeps between its passes, and the inputs of its random numbers.
struct EncodePass {
  const PayloadForm* form = nullptr;
  EncodeContext context;
  bool of_sum = false;                             ///< the input is a sum of decoded elements
  GeneratedStates states;                          ///< the codec's own, of the whole vector
  unsigned number = 0;                             ///< 0, 1, ...
  alignas(64) std::byte tensor[kMostTensorBytes];  ///< the codec's own
};

/// Number of an encoder's passes over the vector: more than one if the first code needs a statistic of all elements.
/// Each pass has the same input.
struct Passes {
  unsigned count = 1;
  unsigned without_kept = 1;  ///< the first ones, which are enough if nothing is kept
};

/// A codec that encodes and decodes tile by tile, so that encode, decode and merge are written once, for all
/// pairs of such codecs, with one pass over memory.
class TileCodec : public Codec, public BatchCodec {
 public:
  void prepare_thread() const override;
  Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                 std::byte* payload) const override;
  Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                     std::byte* payload) const override;
  void encode_all(std::span<EncodeJob> jobs) const final { encode_each({}, jobs); }
  void decode_all(std::span<const DecodeJob> jobs) const final { decode_each(jobs, false); }
  void decode(ConstView payload, Elements n, float* out) const override;
  void decode_add(ConstView payload, Elements n, float* out) const override;
  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override;

  /// Codec::merge by this codec as the second one, for sums whose tiles are of at least so many elements.
  Encoded encode_sums(TileSums& sums, Elements least_step, Elements n, float scale, Residual residual,
                      const EncodeContext& context, std::byte* payload) const;

  virtual PayloadForm form(Elements n) const = 0;

  /// Elements of a tile: a power of two, a multiple of the block.
  virtual Elements tile_elements() const;

  /// Number of arrays of a tile's elements that follow the one in `scratch`, if there are blocks or any of these.
  virtual unsigned rotated_arrays() const { return 0; }

  virtual Passes passes([[maybe_unused]] bool of_sum) const { return {}; }
  /// Called at the start of each pass and, with `number` == passes().count, after the last one.
  virtual void begin_pass(EncodePass&, std::byte*) const {}

  /// Encodes the tile into its place in the payload; afterwards residual_out, when not null, has the tile's residual.
  /// `scratch` holds the tile's elements, which may be source.values, then rotated_arrays(). Returns true if all
  /// of it is finite.
  virtual bool encode_tile(EncodePass& pass, const Tile& tile, const Scaled& source, float* scratch, std::byte* payload,
                           float* residual_out, Write mode) const = 0;

  /// Returns the places of the sections of payloads of n > 0 elements if merges may go by bits (merge_bits.h): an
  /// element's code is a bit, decoded from that bit and the tensor's values alone; and encoding depends on
  /// the element alone and on reductions that neither order nor repetition changes, if there is no NaN and
  /// no -0.
  virtual std::optional<BitPlaces> bit_places([[maybe_unused]] Elements n) const { return std::nullopt; }

  /// Writes the parts of a payload that belong to no tile: the header and the zeros between sections.
  virtual void finish(const PayloadForm& form, bool finite, std::byte* payload) const = 0;

  /// out = the sum of these payloads' tiles in their order, or out += each of them in their order. At least one.
  /// `form` is that of all of them.
  virtual void decode_tile(const PayloadForm& form, const Tile& tile, std::span<const ConstView> payloads, float* out,
                           Write mode) const = 0;

 private:
  /// Encodes each job, as gradients or as sums with this scale.
  void encode_each(std::optional<float> scale_of_sums, std::span<EncodeJob> jobs) const;
  void decode_each(std::span<const DecodeJob> jobs, bool adds) const;
  /// Makes all passes over tiles of `step` elements: tile_done(pass, tile) for each. Returns true if all is finite.
  template <class TileDone>
  bool run_passes(EncodePass& pass, bool keeps, Elements step, std::byte* payload, const TileDone& tile_done) const;
  /// Returns true if encoding an element must wait for others near it.
  bool keeps_tiles() const { return info().block != 1 || rotated_arrays() != 0; }
  /// Memory for a tile of so many elements, and for the rotated arrays.
  float* memory_of(Elements step) const;
  void sum_tile(const PayloadForm& form, const Tile& tile, std::span<const Contribution> contributions,
                float* out) const;
};

}  // namespace casync::compll
