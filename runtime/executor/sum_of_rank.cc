// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/sum_of_rank.h"

#include <utility>

namespace casync::runtime {

void SumOfRank::lie_at(DeviceView sum, DeviceView residual, DeviceView spare) {
  memory_ = sum;
  residual_ = residual;
  spare_ = spare;
}

void SumOfRank::took(bool added, bool left_out) {
  if (added && !ended_) empty_ = false;
  if (left_out) whole_ = false;
}

void SumOfRank::answered(bool finite) {
  if (!std::exchange(whole_, true)) {
    empty_ = false;  // zeros, if it was empty
    return;
  }
  if (finite) std::swap(residual_, spare_);
  empty_ = true;
}

void SumOfRank::begin(bool empty) {
  empty_ = empty;
  whole_ = true;
}

}  // namespace casync::runtime
