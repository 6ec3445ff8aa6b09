// SPDX-License-Identifier: Apache-2.0
#include "plugins/c_api/options.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "base/env.h"
#include "plugins/c_api/error.h"
#include "plugins/c_api/store.h"

namespace casync::c_api {
namespace {

constexpr double kMostSeconds = 1e6;  // beyond it a deadline is a mistake; also the range of CASYNC_TIMEOUT_SEC

// The fields of the first version of the struct.
constexpr std::size_t kFirstOptionsSize = offsetof(casync_session_options, store_user) + sizeof(void*);
constexpr std::size_t kMostSize = 64 * 1024;

/// The options as this library knows them: fields that an older caller lacks are zero. InvalidArgument: smaller than
/// the first version, or a newer caller sets a field that this library does not know.
Result<casync_session_options> read(const casync_session_options* given) {
  const std::size_t size = given->struct_size;
  if (size < kFirstOptionsSize || size > kMostSize) {
    return invalid_argument("casync_session_options.struct_size is " + std::to_string(size) + ", at least " +
                            std::to_string(kFirstOptionsSize) + ": set it to sizeof(casync_session_options)");
  }
  casync_session_options known{};
  const std::size_t common = std::min(size, sizeof known);
  std::memcpy(&known, given, common);
  const char* const bytes = reinterpret_cast<const char*>(given);
  if (std::any_of(bytes + common, bytes + size, [](char byte) { return byte != 0; })) {
    return invalid_argument("casync_session_options sets a field that this library does not know (struct_size " +
                            std::to_string(size) + ", here " + std::to_string(sizeof known) +
                            "): the library is older than the program's casync.h");
  }
  return known;
}

/// rank and size: -1 is the launcher's, and so is a struct that was only zeroed.
Status fill_place(const casync_session_options& options, runtime::LaunchArguments* launch) {
  if (options.rank < -1) return invalid_argument("rank is " + std::to_string(options.rank) + ", expected -1 or more");
  if (options.size < -1) return invalid_argument("size is " + std::to_string(options.size) + ", expected -1 or more");
  const bool zeroed = options.rank == 0 && options.size == 0;
  if (options.rank >= 0 && !zeroed) launch->rank = options.rank;
  if (options.size > 0) launch->ranks = options.size;
  if (options.rendezvous != nullptr) launch->rendezvous = options.rendezvous;
  if (options.token != nullptr) launch->token = options.token;
  return Status::ok();
}

/// A plan or a codec given as an argument, be it "", wins over both variables.
Status fill_plan(const casync_session_options& options, runtime::SessionOptions* filled) {
  const bool argument = options.plan != nullptr || options.codec != nullptr;
  const auto text = [&](const char* given, const char* variable) {
    return argument ? std::string(given == nullptr ? "" : given) : env_text(variable).value_or("");
  };
  filled->plan_file = text(options.plan, "CASYNC_PLAN");
  const std::string codec = text(options.codec, "CASYNC_CODEC");
  if (!filled->plan_file.empty() && !codec.empty()) {
    return invalid_argument(std::string(argument ? "plan and codec" : "CASYNC_PLAN and CASYNC_CODEC") +
                            " are both set (\"" + filled->plan_file + "\", \"" + codec +
                            "\"): a plan says itself which codecs it uses; leave one of them out");
  }
  if (codec.empty()) {
    return options.parameter_count == 0 ? Status::ok() : invalid_argument("parameters are set without a codec");
  }
  // Parameters belong to the codec of the same options, not to the environment's.
  if (!argument && options.parameter_count != 0) return invalid_argument("parameters are set without a codec");
  Result<CodecChoice> choice = codec_choice(codec, options.parameters, options.parameter_count);
  if (!choice && !argument) return invalid_argument("CASYNC_CODEC: " + choice.status().message());
  if (!choice) return choice.status();
  filled->codec = *choice;
  return Status::ok();
}

Status fill_timeout(double given, double* timeout_s) {
  if (!(given >= 0 && given <= kMostSeconds)) {
    return invalid_argument("timeout_s is " + std::to_string(given) + ", expected 0 (the default) to 1000000");
  }
  const Result<std::optional<double>> variable = env_number("CASYNC_TIMEOUT_SEC");
  if (given > 0) {
    *timeout_s = given;
  } else if (!variable) {
    return variable.status();
  } else if (*variable) {
    *timeout_s = **variable;
  }
  return Status::ok();
}

Result<runtime::ReduceOp> op_from(const char* text) {
  const std::string_view op = text == nullptr ? "average" : text;
  if (op == "average") return runtime::ReduceOp::kAverage;
  if (op == "sum") return runtime::ReduceOp::kSum;
  if (op == "copy") return runtime::ReduceOp::kCopy;
  return invalid_argument("op is \"" + std::string(op) + "\", expected average, sum or copy");
}

}  // namespace

Result<CodecChoice> codec_choice(std::string_view text, const casync_parameter* parameters, std::size_t count) {
  Result<CodecChoice> parsed = parse_codec_choice(text);
  if (!parsed) return parsed.status();
  CASYNC_RETURN_IF_ERROR(need_array(parameters, count, "parameters"));
  CodecChoice choice = std::move(*parsed);
  std::set<std::string> names;
  for (const auto& [name, value] : choice.parameters) names.insert(name);
  for (std::size_t i = 0; i < count; ++i) {
    CASYNC_RETURN_IF_ERROR(need(parameters[i].name, ("parameters[" + std::to_string(i) + "].name").c_str()));
    const std::string name = parameters[i].name;
    if (!names.insert(name).second) {
      return invalid_argument("codec " + choice.name + ": parameter " + name + " twice");
    }
    if (!std::isfinite(parameters[i].value)) {
      return invalid_argument("codec " + choice.name + ": parameter " + name + " is not finite");
    }
    choice.parameters.emplace_back(name, parameters[i].value);
  }
  return choice;
}

Result<runtime::SessionOptions> session_options(const casync_session_options* given) {
  CASYNC_RETURN_IF_ERROR(need(given, "options"));
  const Result<casync_session_options> known = read(given);
  if (!known) return known.status();
  const casync_session_options* const options = &*known;
  runtime::SessionOptions filled;
  CASYNC_RETURN_IF_ERROR(fill_place(*options, &filled.launch));
  CASYNC_RETURN_IF_ERROR(fill_plan(*options, &filled));
  CASYNC_RETURN_IF_ERROR(fill_timeout(options->timeout_s, &filled.timeout_s));
  const bool transport = options->transport != nullptr && *options->transport != '\0';
  filled.transport = transport ? options->transport : env_text("CASYNC_TRANSPORT").value_or("ucx");
  filled.trace_directory = options->trace != nullptr ? options->trace : env_text("CASYNC_TRACE").value_or("");
  filled.record_directory = env_text("CASYNC_RECORD").value_or("");
  const Result<runtime::ReduceOp> op = op_from(options->op);
  if (!op) return op.status();
  filled.op = *op;
  if (filled.op == runtime::ReduceOp::kCopy) {  // beside the session of the training, whose files these are
    filled.record_directory.clear();
    if (options->trace == nullptr) filled.trace_directory.clear();
  }
  if (options->device != nullptr) filled.device = options->device;
  if ((options->store_set == nullptr) != (options->store_get == nullptr)) {
    return invalid_argument("store_set and store_get belong together: only one of them is set");
  }
  if (options->store_set != nullptr) {
    filled.store = store_functions(options->store_set, options->store_get, options->store_user);
  }
  return filled;
}

}  // namespace casync::c_api
