// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/cpu/rounds_elements.h"
#include "compll/codegen/cpu/rounds_matrices.h"
#include "compll/codegen/cpu/rounds_memory.h"
#include "compll/codegen/cpu/rounds_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll {

/// The items of a turn as C++, in their order, each by the part that writes its kind. An array's name is called with an
/// index: it is memory, or a function that computes the element.
class RoundsItems {
 public:
  RoundsItems(const cpu_turns::Turn& plan, Writer& out) : plan_(plan), out_(out), values_(plan, out) {}

  void write();

 private:
  template <class Item>
  void write(const Item& item);

  const cpu_turns::Turn& plan_;
  Writer& out_;
  const RoundsValues values_;
  RoundsMemory memory_{plan_, values_, out_};
  RoundsMatrices matrices_{values_, memory_, out_};
  RoundsElements elements_{plan_, values_, memory_, out_};
};

}  // namespace casync::compll
