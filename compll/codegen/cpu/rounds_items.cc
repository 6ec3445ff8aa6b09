// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_items.h"

#include <variant>

namespace casync::compll {

void RoundsItems::write() {
  for (const cpu_turns::Item& item : plan_.items) std::visit([&](const auto& each) { write(each); }, item);
}

template <class Item>
void RoundsItems::write(const Item& item) {
  if constexpr (requires { memory_.write(item); }) {
    memory_.write(item);
  } else if constexpr (requires { matrices_.write(item); }) {
    matrices_.write(item);
  } else if constexpr (requires { elements_.write(item); }) {
    elements_.write(item);
  } else {
    out_.source_line(item.at);  // a statement begins
  }
}

}  // namespace casync::compll
