// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/print_json.h"

#include <cstdio>

namespace casync::tools {

void print_json(const nlohmann::ordered_json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace casync::tools
