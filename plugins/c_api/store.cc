// SPDX-License-Identifier: Apache-2.0
#include "plugins/c_api/store.h"

#include <string>

#include "base/units.h"

namespace casync::c_api {
namespace {

// An address and a few names fit at once; what does not is asked for again.
constexpr Bytes kFirstCapacity = 4_KiB;
constexpr Bytes kMostValueBytes = 1_MiB;

Result<std::string> get_value(casync_store_get get, void* user, const std::string& key, double timeout_s) {
  std::string value(kFirstCapacity, '\0');
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::size_t length = 0;
    const int failed = get(user, key.c_str(), value.data(), value.size(), &length, timeout_s);
    if (failed == CASYNC_UNAVAILABLE) {
      return unavailable("the program's store has failed (store_get of " + key + " returned CASYNC_UNAVAILABLE)");
    }
    if (failed != 0) {
      return timeout_error("the program's store has no value for " + key + " (store_get returned " +
                           std::to_string(failed) + " and had " + std::to_string(timeout_s) + " s)");
    }
    const bool fits = length <= value.size();
    if (length > kMostValueBytes) break;
    value.resize(length);
    if (fits) return value;
  }
  return internal_error("the program's store gives no stable value of at most 1 MiB for " + key);
}

}  // namespace

runtime::StoreFunctions store_functions(casync_store_set set, casync_store_get get, void* user) {
  runtime::StoreFunctions functions;
  functions.set = [set, user](const std::string& key, const std::string& value) {
    const int failed = set(user, key.c_str(), value.data(), value.size());
    if (failed == 0) return Status::ok();
    return unavailable("the program's store did not take " + key + " (store_set returned " + std::to_string(failed) +
                       ")");
  };
  functions.get = [get, user](const std::string& key, double timeout_s) {
    return get_value(get, user, key, timeout_s);
  };
  return functions;
}

}  // namespace casync::c_api
