// SPDX-License-Identifier: Apache-2.0
#include "plugins/c_api/error.h"

namespace casync::c_api {
namespace {

thread_local std::string message;
// The result of casync_last_error: the message, or a text that needed no memory.
thread_local const char* last_error = "";

constexpr casync_status number_of(StatusCode code) { return static_cast<casync_status>(code); }

static_assert(number_of(StatusCode::kOk) == CASYNC_OK);
static_assert(number_of(StatusCode::kInvalidArgument) == CASYNC_INVALID_ARGUMENT);
static_assert(number_of(StatusCode::kPlanError) == CASYNC_PLAN_ERROR);
static_assert(number_of(StatusCode::kPeerFailure) == CASYNC_PEER_FAILURE);
static_assert(number_of(StatusCode::kTimeout) == CASYNC_TIMEOUT);
static_assert(number_of(StatusCode::kDataLoss) == CASYNC_DATA_LOSS);
static_assert(number_of(StatusCode::kUnavailable) == CASYNC_UNAVAILABLE);
static_assert(number_of(StatusCode::kAborted) == CASYNC_ABORTED);
static_assert(number_of(StatusCode::kUnimplemented) == CASYNC_UNIMPLEMENTED);
static_assert(number_of(StatusCode::kInternal) == CASYNC_INTERNAL);
static_assert(number_of(StatusCode::kCompileError) == CASYNC_COMPILE_ERROR);

}  // namespace

casync_status finish(const Status& status) noexcept {
  try {
    message = status.message();
    last_error = message.c_str();
  } catch (...) {
    last_error = "out of memory while an error was being reported";
  }
  return number_of(status.code());
}

casync_status out_of_memory() noexcept {
  last_error = "out of memory";
  return CASYNC_INTERNAL;
}

}  // namespace casync::c_api

const char* casync_last_error(void) { return casync::c_api::last_error; }
