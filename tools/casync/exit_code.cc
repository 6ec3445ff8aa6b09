// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/exit_code.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "tools/casync/print_json.h"

namespace casync::tools {
namespace {

bool speaks_json = false;

void say(const char* what, const std::string& message) {
  std::fprintf(stderr, "casync %s: %s\n", what, message.c_str());
}

/// A place in a file, as errors begin with it.
struct PlaceInFile {
  std::string file;
  int line = 0, column = 0;
};

/// Takes a number of at most nine digits and the colon behind it off `text`; nothing if it begins with none.
std::optional<int> take_number(std::string_view& text) {
  constexpr std::size_t kMostDigits = 9;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > kMostDigits || !text.substr(digits).starts_with(':')) return std::nullopt;
  const int number = std::atoi(std::string(text.substr(0, digits)).c_str());
  text.remove_prefix(digits + 1);
  return number;
}

/// The place of "FILE:LINE:COLUMN: message". A message may be as long as a command line.
std::optional<PlaceInFile> place_of(std::string_view text) {
  const std::size_t end = text.find_first_of(":\n");
  if (end == 0 || end == text.npos || text[end] != ':') return std::nullopt;
  std::string_view rest = text.substr(end + 1);
  const std::optional<int> line = take_number(rest), column = line ? take_number(rest) : std::nullopt;
  if (!column || !rest.starts_with(' ')) return std::nullopt;
  return PlaceInFile{std::string(text.substr(0, end)), *line, *column};
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
  nlohmann::ordered_json error{{"kind", kind}, {"exit_code", static_cast<int>(code)}, {"message", text}};
  if (const std::optional<PlaceInFile> place = place_of(text)) {
    error["file"] = place->file;
    error["line"] = place->line;
    error["column"] = place->column;
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
