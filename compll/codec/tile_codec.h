// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

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

/// The state that an encoding keeps between its passes, and the inputs of its random numbers.
struct EncodePass {
  EncodeContext context;
  bool of_sum = false;                             ///< the input is a sum of decoded elements
  GeneratedStates states;                          ///< the codec's own, of the whole vector
  unsigned number = 0;                             ///< 0, 1, ...
  alignas(64) std::byte tensor[kMostTensorBytes];  ///< the codec's own
};

/// Number of an encoder's passes over the vector: more than one if a statistic of all elements is needed before the
/// first code. Each pass has the same input.
struct Passes {
  unsigned count = 1;
  unsigned without_kept = 1;  ///< the first ones, which are enough if nothing is kept
};

/// A codec that encodes and decodes tile by tile, so that encode, decode and merge are written once, for all
/// pairs of such codecs, with one pass over memory.
class TileCodec : public Codec {
 public:
  void prepare_thread() const override;
  Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                 std::byte* payload) const override;
  Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                     std::byte* payload) const override;
  void decode(ConstView payload, Elements n, float* out) const override;
  void decode_add(ConstView payload, Elements n, float* out) const override;
  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override;

  /// Codec::merge by this codec as the second one, for sums whose tiles are of at least so many elements.
  Encoded encode_sums(TileSums& sums, Elements least_step, Elements n, float scale, Residual residual,
                      const EncodeContext& context, std::byte* payload) const;

  /// Elements of a tile: a power of two, a multiple of the block.
  virtual Elements tile_elements() const;

  /// Number of arrays of a tile's elements that follow the one in `scratch`, if there are blocks or any of these.
  virtual unsigned turned_arrays() const { return 0; }

  virtual Passes passes([[maybe_unused]] bool of_sum) const { return {}; }
  /// Called before each pass and, with `number` == passes().count, after the last one.
  virtual void begin_pass(EncodePass&, Elements, std::byte*) const {}

  /// Encodes the tile into its place in the payload; residual_out, when not null, has the tile's residual after.
  /// `scratch` holds the tile's elements, which may be source.values, then turned_arrays(). Returns true if all
  /// of it is finite.
  virtual bool encode_tile(EncodePass& pass, const Tile& tile, const Scaled& source, float* scratch, std::byte* payload,
                           float* residual_out, Write mode) const = 0;

  /// Returns the places of the sections of payloads of n > 0 elements if merges may go by bits (merge_bits.h): an
  /// element's code is a bit, decoded from that bit and the tensor's values alone; and encoding depends on
  /// the element alone and on reductions that neither order nor repetition changes, if there is no NaN and
  /// no -0.
  virtual std::optional<BitPlaces> bit_places([[maybe_unused]] Elements n) const { return std::nullopt; }

  /// Writes the parts of a payload besides its tiles: the header and the zeros between sections.
  virtual void finish(Elements n, bool finite, std::byte* payload) const = 0;

  /// out = the sum of these payloads' tiles in their order, or out += each of them in their order. At least one.
  virtual void decode_tile(const Tile& tile, std::span<const ConstView> payloads, float* out, Write mode) const = 0;

 protected:
  /// A residual, then the codec's own states. A caller may give a residual to any codec that has no states
  /// instead.
  struct Kept {
    const float* residual_in = nullptr;
    float* residual_out = nullptr;
    GeneratedStates states;

    bool is_wanted() const { return residual_out != nullptr || states.out != nullptr; }
  };
  Kept kept_of(Residual residual) const;
  /// The mode in which all kept arrays of n elements are written.
  Write mode_of(const Kept& kept, Elements n) const;

 private:
  Encoded encode_scaled(bool of_sum, Scaled source, Elements n, Residual residual, const EncodeContext& context,
                        std::byte* payload) const;
  std::uint32_t own_states() const { return info().states - (info().feedback ? 1 : 0); }
  /// Makes all passes over tiles of `step` elements: tile_done(pass, tile) for each. Returns true if all is finite.
  template <class TileDone>
  bool run_passes(EncodePass& pass, bool keeps, Elements n, Elements step, std::byte* payload,
                  const TileDone& tile_done) const;
  /// Returns true if encoding an element must wait for others near it.
  bool keeps_tiles() const { return info().block != 1 || turned_arrays() != 0; }
  /// Memory for a tile of so many elements, and for the turned arrays.
  float* memory_of(Elements step) const;
  void sum_tile(const Tile& tile, std::span<const Contribution> contributions, float* out) const;
  void decode_tiles(ConstView payload, Elements n, float* out, Write mode) const;
};

}  // namespace casync::compll
