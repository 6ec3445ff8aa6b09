// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace casync {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "casync: internal error: %s:%d: this must hold: %s\n", file, line, condition);
  std::abort();
}

const char* name_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kInvalidArgument: return "InvalidArgument";
    case StatusCode::kPlanError: return "PlanError";
    case StatusCode::kPeerFailure: return "PeerFailure";
    case StatusCode::kTimeout: return "Timeout";
    case StatusCode::kDataLoss: return "DataLoss";
    case StatusCode::kUnavailable: return "Unavailable";
    case StatusCode::kAborted: return "Aborted";
    case StatusCode::kUnimplemented: return "Unimplemented";
    case StatusCode::kInternal: return "Internal";
    case StatusCode::kCompileError: return "CompileError";
  }
  return "Internal";
}

std::string Status::text() const { return is_ok() ? "OK" : std::string(name_of(code_)) + ": " + message_; }

Status invalid_argument(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
Status plan_error(std::string message) { return {StatusCode::kPlanError, std::move(message)}; }
Status peer_failure(std::string message) { return {StatusCode::kPeerFailure, std::move(message)}; }
Status timeout_error(std::string message) { return {StatusCode::kTimeout, std::move(message)}; }
Status data_loss(std::string message) { return {StatusCode::kDataLoss, std::move(message)}; }
Status unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }
Status aborted(std::string message) { return {StatusCode::kAborted, std::move(message)}; }
Status unimplemented(std::string message) { return {StatusCode::kUnimplemented, std::move(message)}; }
Status internal_error(std::string message) { return {StatusCode::kInternal, std::move(message)}; }
Status compile_error(std::string message) { return {StatusCode::kCompileError, std::move(message)}; }

}  // namespace casync
