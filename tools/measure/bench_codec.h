// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "compll/codec/codec.h"

namespace casync::tools {

/// Options of a measurement: over `total` elements that lie in memory as partitions of a model do, so that a
/// partition's memory is in no cache when its turn comes, unless the whole model is.
struct CodecBenchOptions {
  Elements partition = Elements{1} << 24;
  Elements total = Elements{1} << 24;  ///< at least a partition
  int merged = 4;                      ///< codes in a merge
  bool own = false;                    ///< and elements as they are, those of the rank that merges
  double seconds = 0.3;                ///< spent on each measurement; its best pass counts
};

/// One operation on all `total` elements.
struct OperationTime {
  double seconds = 0;            ///< of the best pass
  double bytes_per_element = 0;  ///< that it has to read and write
};

struct CodecBenchResult {
  std::string codec;
  CodecBenchOptions options;
  double payload_bits = 0;  ///< per element
  double error = 0;         ///< ||D(E(x)) - x||^2 / ||x||^2 of Gaussian x
  OperationTime encode;     ///< with feedback, where the codec keeps a residual
  OperationTime decode;
  OperationTime merge;  ///< of `merged` codes into one, with feedback, where the codec keeps a residual
};

/// Bytes read and written per second, in units of 1e9.
double gigabytes_per_second(const OperationTime& operation, Elements total);

/// The fastest way to copy that we have: memcpy, or the codec `none`, which also writes past the caches. On the
/// calling thread, like all of these.
OperationTime measure_copy(const CodecBenchOptions& options);

/// Adding a vector to another one, into a third, past the caches: the memory traffic of an encoder with feedback, and
/// nothing else.
OperationTime measure_sum(const CodecBenchOptions& options);

/// One codec on one core.
CodecBenchResult measure_codec(const compll::Codec& codec, const CodecBenchOptions& options);

/// The same operations one pass at a time, for callers that have a clock of their own.
class CodecPasses {
 public:
  /// Borrows the codec.
  CodecPasses(const compll::Codec& codec, const CodecBenchOptions& options);
  ~CodecPasses();

  // Once over all elements.
  void encode();
  void decode();
  void merge();
  /// As measure_codec.
  CodecBenchResult measure();
  /// A merge of the first `codes` codes, of at least one and of those in the options.
  OperationTime measure_merge(int codes);

 private:
  class Bench;
  std::unique_ptr<Bench> bench_;
};

}  // namespace casync::tools
