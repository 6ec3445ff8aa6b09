// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "compll/codec/codec.h"

namespace casync::compll {

inline constexpr std::size_t kMostRounds = 8;

/// Floats that a gradient of rows x columns takes in a codec of rounds.
struct RoundsShape {
  std::vector<Elements> exchanged;  ///< of each round: what is added up over the ranks
  Elements states = 0;              ///< kept from step to step, zeros at first
  Elements scratch = 0;             ///< kept from turn to turn of one step
};

/// One turn: what a rank computes before the first exchange, between two, and after the last. Turn k writes
/// exchanged[k]; before turn k + 1 the caller replaces it by the sum over the ranks times the reduction's scale, the
/// same bytes on all ranks. There is one turn more than there are rounds. The memories overlap nothing but where it is
/// said.
struct Turn {
  std::uint32_t number = 0;
  Elements rows = 0, columns = 0;
  const float* gradient = nullptr;    ///< rows * columns
  std::span<float* const> exchanged;  ///< info().rounds arrays of shape().exchanged floats
  const float* states_in = nullptr;   ///< shape().states floats; null: zeros
  float* states_out = nullptr;        ///< null: not wanted. Written in any turn, complete after the last one
  float* scratch = nullptr;           ///< shape().scratch floats
  float* out = nullptr;               ///< the last turn's: rows * columns, may be `gradient`. Null before
};

/// A compression algorithm that exchanges several times within one step, each time adding up floats over the ranks.
/// What all ranks have to compute alike is a function of what was exchanged, the seed and the step. Immutable and
/// thread-safe: all state is the caller's. The same input gives the same bytes whatever instructions the machine has.
class RoundsCodec {
 public:
  virtual ~RoundsCodec() = default;
  virtual const CodecInfo& info() const = 0;  ///< `rounds` is at least 1, the same for all shapes
  virtual RoundsShape shape(Elements rows, Elements columns) const = 0;

  /// Takes the memory that turns keep on the calling thread whatever the shape. What depends on it grows with the first
  /// turn that needs as much.
  virtual void prepare_thread() const = 0;

  /// `context` is the same in all turns of a step. Where one rank's gradient has NaN or infinity, what was exchanged
  /// has some on all ranks, `out` is NaN, and `states_out` must not be kept.
  virtual void turn(const Turn& turn, const EncodeContext& context) const = 0;
};

/// The codec of rounds called `name`, or the program of this path, as make_codec.
Result<std::unique_ptr<RoundsCodec>> make_rounds_codec(const std::string& name,
                                                       std::span<const std::pair<std::string, double>> parameters = {});

/// Whether `name` is such a codec; of a file, what it says. False also where there is no such name or file.
bool has_rounds(const std::string& name);

/// Names of those that are part of the library.
std::vector<std::string> rounds_codec_names();

}  // namespace casync::compll
