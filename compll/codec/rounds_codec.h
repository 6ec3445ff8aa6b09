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

/// Floats that a gradient of rows x columns takes in a codec of rounds.
struct RoundsShape {
  std::vector<Elements> exchanged;  ///< of each round: floats that a rank gives, and gets
  Elements states = 0;              ///< kept from step to step, zeros at first
  Elements scratch = 0;             ///< kept from turn to turn of one step
};

/// One turn: the work of a rank up to the first exchange, between two exchanges, or after the last one. Turn k writes
/// exchanged[k]. Ahead of turn k + 1 the caller replaces it by the result of info().exchanges[k] on all ranks' arrays,
/// which has the same bytes on all ranks. There is one turn more than there are rounds. The memories do not overlap,
/// except where stated.
struct Turn {
  std::uint32_t number = 0;
  Elements rows = 0, columns = 0;
  const float* gradient = nullptr;    ///< rows * columns
  std::span<float* const> exchanged;  ///< info().rounds arrays of shape().exchanged floats
  const float* states_in = nullptr;   ///< shape().states floats; null: zeros
  float* states_out = nullptr;        ///< null: not wanted. Written in any turn, complete after the last one
  float* scratch = nullptr;           ///< shape().scratch floats
  float* out = nullptr;               ///< the last turn's: rows * columns, may be `gradient`. Null in earlier turns
};

/// A compression algorithm that exchanges several times within one step, each time joining floats of all ranks.
/// Values that all ranks must compute alike depend only on exchanged ones, the seed and the step. Immutable and
/// thread-safe: all state is the caller's. The same input gives the same bytes whatever instructions the machine has.
class RoundsCodec {
 public:
  virtual ~RoundsCodec() = default;
  virtual const CodecInfo& info() const = 0;  ///< `rounds` is at least 1, the same for all shapes
  virtual RoundsShape shape(Elements rows, Elements columns) const = 0;

  /// Takes the memory that turns keep on the calling thread for any shape. Memory that depends on the shape grows with
  /// the first turn that needs as much.
  virtual void prepare_thread() const = 0;

  /// `context` is the same in all turns of a step. If one rank's gradient has NaN or infinity, the exchanged floats
  /// have some on all ranks, `out` is NaN, and `states_out` must not be kept.
  virtual void turn(const Turn& turn, const EncodeContext& context) const = 0;
};

/// The codec of rounds called `name`, or the program of this path, as make_codec.
Result<std::unique_ptr<RoundsCodec>> make_rounds_codec(const std::string& name,
                                                       std::span<const std::pair<std::string, double>> parameters = {});

/// Returns true if `name` is a codec of rounds, or the file of one. False also if there is no such name or file.
bool has_rounds(const std::string& name);

/// The codec that carries an exchange, without parameters, on both hops.
std::string codec_of(ExchangeKind kind);
/// Bits of one of its elements: of float32, or of rounded Gaussian numbers of variance 1 in Elias' code.
double bits_of(ExchangeKind kind);
/// Bits that a rank gives to all exchanges of a gradient of rows x columns.
double exchanged_bits(const RoundsCodec& codec, Elements rows, Elements columns);

/// Names of the codecs of rounds in the library.
std::vector<std::string> rounds_codec_names();

}  // namespace casync::compll
