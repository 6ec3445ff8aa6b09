// SPDX-License-Identifier: Apache-2.0
#include "plugins/c_api/text.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "plugins/c_api/error.h"

namespace casync::c_api {

void copy_text(std::string_view text, char* out, std::size_t capacity) {
  if (capacity == 0) return;
  const std::size_t fits = std::min(text.size(), capacity - 1);
  std::memcpy(out, text.data(), fits);
  out[fits] = '\0';
}

Status give_text(std::string_view text, char* out, std::size_t capacity, std::size_t* length) {
  CASYNC_RETURN_IF_ERROR(need(length, "length"));
  CASYNC_RETURN_IF_ERROR(need_array(out, capacity, "json"));
  *length = text.size();
  copy_text(text, out, capacity);
  return Status::ok();
}

bool is_utf8(std::string_view text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace casync::c_api
