// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/rounds_run.h"

#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

RoundsRun::RoundsRun(std::unique_ptr<compll::RoundsCodec> rounds_codec, Elements matrix_rows, Elements matrix_columns,
                     MakeKernels kernels)
    : codec(std::move(rounds_codec)),
      make_kernels(std::move(kernels)),
      rows(matrix_rows),
      columns(matrix_columns),
      shape(codec->shape(matrix_rows, matrix_columns)) {}

RoundsRun::~RoundsRun() = default;

void RoundsRun::add(std::unique_ptr<GradientRun> exchange) { exchanges_.push_back(std::move(exchange)); }

Status RoundsRun::allocate(Device& device) {
  const auto floats = [&](Elements count) { return device.allocate(count * sizeof(float), Memory::kDevice); };
  for (const Elements count : shape.exchanged) {
    Result<std::unique_ptr<DeviceBuffer>> memory = floats(count);
    if (!memory) return memory.status();
    exchanged_.push_back(std::move(*memory));
  }
  Result<std::unique_ptr<DeviceBuffer>> memory = floats(shape.scratch);
  if (!memory) return memory.status();
  scratch_ = std::move(*memory);
  return Status::ok();
}

const GradientRun* RoundsRun::under_way() const {
  return !is_last() && exchanges_[turn_]->step.is_under_way() ? exchanges_[turn_].get() : nullptr;
}

}  // namespace casync::runtime
