// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_module.h"

#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "casync/planner/plan_io.h"

namespace casync {
namespace {

Status read(std::string_view text, const char* source, std::size_t plan_bytes, Plan* plan) {
  if (plan_bytes != sizeof(Plan)) {
    return unavailable(std::string(kPlanModule) + " is of another build than its caller: install both together");
  }
  Result<Plan> parsed = parse_plan(text, source);
  if (parsed) *plan = std::move(*parsed);
  return parsed.status();
}

}  // namespace
}  // namespace casync

extern "C" __attribute__((visibility("default"))) void casync_planio_read(const char* text, std::size_t size,
                                                                          const char* source, std::size_t plan_bytes,
                                                                          casync::Plan* plan, casync::Status* status) {
  try {
    *status = casync::read({text, size}, source, plan_bytes, plan);
  } catch (const std::exception& error) {
    // Out of memory, at most; the short message needs none.
    *status = casync::internal_error(error.what());
  }
}

// The caller finds this function by name: it must be what PlanReader says.
static_assert(std::is_same_v<decltype(casync_planio_read), casync::PlanReader>);
