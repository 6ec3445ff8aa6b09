// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"

namespace casync::tools {

/// Speeds of a codec, with that of a copy that was measured in the same run.
struct Speeds {
  struct Operation {
    const char* name;
    double bytes_per_element = 0;  ///< that it has to read and write
    double kept_bytes = 0;         ///< of these, for the codec's state
    double gb_s = 0;               ///< of all of them
  };
  std::string where;
  double copy_gb_s = 0;

  /// Time of one element, whatever bytes have to be moved for it: comparable between codecs that keep state and codecs
  /// that keep none.
  static double nanoseconds(const Operation& operation) { return operation.bytes_per_element / operation.gb_s; }
  std::vector<Operation> operations;  ///< none: nothing was measured
};

/// A codec's costs and losses.
struct Figures {
  double bits = 0;         ///< an element, of a large gradient
  double gaussian = 0;     ///< ||D(E(x)) - x||^2 / ||x||^2
  double heavy_tails = 0;  ///< the same
  Speeds speeds;
};

/// The same of a codec that exchanges within a step.
struct RoundsFigures {
  double bits = 0;     ///< a rank hands to exchanges for each element of a matrix of 1024 x 1024
  double first = 0;    ///< ||result - mean||^2 / ||mean||^2 of one step of Gaussian gradients, 256 x 256
  double steps16 = 0;  ///< the same of what 16 steps of the same gradients give together
  Speeds speeds;       ///< of one rank's turns
};

/// One core, `seconds` for each measurement; 0 measures no speed.
Figures measure_figures(const compll::Codec& codec, double seconds);
RoundsFigures measure_rounds(const compll::RoundsCodec& codec, double seconds);

/// One rank's turns of a step of a square matrix that is in no cache when its turn comes: the best pass in `seconds`.
double turns_seconds(const compll::RoundsCodec& codec, Elements side, double seconds);

/// Bytes that the turns move for an element of a matrix: the gradient and the states are read, the result and the
/// states are written; the exchanged values are written by one turn and read by the next.
double bytes_of_turns(const compll::RoundsShape& shape, Elements rows, Elements columns);

}  // namespace casync::tools
