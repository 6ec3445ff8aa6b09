// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "compll/codec/codec.h"
#include "runtime/executor/kept_state.h"
#include "runtime/executor/task_part.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {

/// The elements of `slice` as float32: the gradient's memory itself, or a converted copy in `scratch`.
const float* float_values(const TaskPart& part, Slice slice, Scratch& scratch);

/// The state that a codec keeps of a slice, as floats for the time of one task.
class KeptSlice {
 public:
  KeptSlice(const HopCodecs& codecs, const TaskPart& part, const compll::Codec& codec, KeptBy use, Slice slice,
            Scratch& scratch);
  const compll::Residual& floats() const { return floats_; }
  /// Rounds what the codec has written, where that is kept in bfloat16. `context`: the codec's.
  void put_back(const compll::EncodeContext& context) const {
    if (rounding_ != nullptr) round(context);
  }

 private:
  void round(const compll::EncodeContext& context) const;

  const Elements count_;
  Scratch& scratch_;
  compll::Residual floats_;
  std::byte* out_ = nullptr;
  const compll::Codec* rounding_ = nullptr;  ///< null: `out_` holds floats
};

}  // namespace casync::runtime
