// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/exit_code.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>

#include "tools/casync/print_json.h"

namespace casync::tools {
namespace {

bool speaks_json = false;

void say(const char* what, const std::string& message) {
  std::fprintf(stderr, "casync %s: %s\n", what, message.c_str());
}

}  // namespace

ExitCode exit_code_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kPlanError:
    case StatusCode::kCompileError:
    case StatusCode::kDataLoss: return kExitRefused;
    case StatusCode::kPeerFailure:
    case StatusCode::kTimeout: return kExitPeer;
    default: return kExitFailure;
  }
}

void print_errors_as_json() { speaks_json = true; }

void print_error_json(const char* kind, ExitCode code, const std::string& text) {
  if (!speaks_json) return;
  static const std::regex kPlace("^([^:\n]+):([0-9]{1,9}):([0-9]{1,9}): ");
  nlohmann::ordered_json error{{"kind", kind}, {"exit_code", static_cast<int>(code)}, {"message", text}};
  std::smatch place;
  if (std::regex_search(text, place, kPlace)) {
    error["file"] = place[1];
    error["line"] = std::stoi(place[2]);
    error["column"] = std::stoi(place[3]);
  }
  print_json(nlohmann::ordered_json{{"error", error}});
}

ExitCode fail(const char* what, const Status& status) {
  say(what, status.message());
  print_error_json(name_of(status.code()), exit_code_of(status), status.message());
  return exit_code_of(status);
}

ExitCode fail_on_rank(const char* what, const Status& status, Rank rank, Rank local_rank) {
  if (rank == 0) return fail(what, status);
  const ExitCode code = exit_code_of(status);
  if (code != kExitRefused || local_rank == 0) say(what, status.message());
  return code;
}

ExitCode fail_usage(const char* what, const std::string& message) {
  say(what, message);
  print_error_json("Usage", kExitUsage, message);
  return kExitUsage;
}

}  // namespace casync::tools
