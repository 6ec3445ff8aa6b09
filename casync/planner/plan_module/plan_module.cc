// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_module.h"

#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "casync/planner/plan_module/model_io.h"
#include "casync/planner/plan_module/plan_io.h"
#include "casync/planner/plan_module/profile_io.h"

namespace casync {
namespace {

/// `parse` with its result through pointers, and no exception beyond this module.
template <class Value>
void read(Result<Value> (*parse)(std::string_view, std::string_view), std::string_view text, const char* source,
          std::size_t value_bytes, Value* value, Status* status) {
  try {
    if (value_bytes != sizeof(Value)) {
      *status = unavailable(std::string(kPlanModule) + " is of another build than its caller: install both together");
      return;
    }
    Result<Value> parsed = parse(text, source);
    *status = parsed.status();
    if (parsed) *value = std::move(*parsed);
  } catch (const std::exception& error) {
    // Out of memory, at most; the short message needs none.
    *status = internal_error(error.what());
  }
}

/// Writes the text of a value, the other way.
template <class Value>
void write(std::string (*text_of)(const Value&), const Value* value, std::size_t value_bytes, std::string* text,
           Status* status) {
  try {
    if (value_bytes != sizeof(Value)) {
      *status = unavailable(std::string(kPlanModule) + " is of another build than its caller: install both together");
      return;
    }
    *text = text_of(*value);
    *status = Status::ok();
  } catch (const std::exception& error) {
    *status = internal_error(error.what());
  }
}

}  // namespace
}  // namespace casync

#define CASYNC_EXPORT extern "C" __attribute__((visibility("default")))

CASYNC_EXPORT void casync_planio_read(const char* text, std::size_t size, const char* source, std::size_t plan_bytes,
                                      casync::Plan* plan, casync::Status* status) {
  casync::read(&casync::parse_plan, {text, size}, source, plan_bytes, plan, status);
}

CASYNC_EXPORT void casync_planio_read_profile(const char* text, std::size_t size, const char* source,
                                              std::size_t profile_bytes, casync::Profile* profile,
                                              casync::Status* status) {
  casync::read(&casync::parse_profile, {text, size}, source, profile_bytes, profile, status);
}

CASYNC_EXPORT void casync_planio_read_model(const char* text, std::size_t size, const char* source,
                                            std::size_t training_bytes, casync::Training* training,
                                            casync::Status* status) {
  casync::read(&casync::parse_model, {text, size}, source, training_bytes, training, status);
}

CASYNC_EXPORT void casync_planio_write(const casync::Plan* plan, std::size_t plan_bytes, std::string* text,
                                       casync::Status* status) {
  casync::write(&casync::plan_text, plan, plan_bytes, text, status);
}

CASYNC_EXPORT void casync_planio_write_profile(const casync::Profile* profile, std::size_t profile_bytes,
                                               std::string* text, casync::Status* status) {
  casync::write(&casync::profile_text, profile, profile_bytes, text, status);
}

CASYNC_EXPORT void casync_planio_write_model(const casync::Training* training, std::size_t training_bytes,
                                             std::string* text, casync::Status* status) {
  casync::write(&casync::model_text, training, training_bytes, text, status);
}

// The caller finds these functions by name: they must be what plan_module.h says.
static_assert(std::is_same_v<decltype(casync_planio_read), casync::PlanReader>);
static_assert(std::is_same_v<decltype(casync_planio_read_profile), casync::ProfileReader>);
static_assert(std::is_same_v<decltype(casync_planio_read_model), casync::ModelReader>);
static_assert(std::is_same_v<decltype(casync_planio_write), casync::PlanWriter>);
static_assert(std::is_same_v<decltype(casync_planio_write_profile), casync::ProfileWriter>);
static_assert(std::is_same_v<decltype(casync_planio_write_model), casync::ModelWriter>);
