// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/cuda_reducers.h"

namespace casync::compll {

bool is_ordered(Reducer reducer, ScalarType type) {
  return reducer == Reducer::kUser || (reducer == Reducer::kSum && type.is_float());
}

bool has_cuda_reducer(Reducer reducer, ScalarType type) {
  switch (reducer) {
    case Reducer::kMagnitude:
    case Reducer::kCount: return true;
    case Reducer::kSum:
    case Reducer::kUser: return type != kBoolType;
    case Reducer::kMin:
    case Reducer::kMax: return type != kBoolType && type != kDoubleType;
  }
  return false;
}

}  // namespace casync::compll
