// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/program_values.h"

#include <algorithm>
#include <sstream>

#include "compll/codec/declaration.h"

namespace casync::compll {
namespace {

constexpr const char* kFeedback = "feedback";

std::string of_codec(const Program& program) { return "codec `" + program.declares.name + "`"; }

Status refuse(const Program& program, const ProgramParameter& parameter, double value) {
  std::ostringstream text;
  text << of_codec(program) << ": parameter `" << parameter.name << "` is " << value << ", expected a value from "
       << parameter.least << " to " << parameter.most;
  return invalid_argument(text.str());
}

}  // namespace

Result<ProgramValues> values_for(const Program& program, std::span<const std::pair<std::string, double>> parameters) {
  ProgramValues all{{}, program.declares.feedback};
  const bool keeps_or_may = program.declares.feedback || program.declares.feedback_offered;
  for (const ProgramParameter& parameter : program.parameters) all.values.push_back(parameter.initial);
  for (const auto& [name, value] : parameters) {
    if (name == kFeedback && keeps_or_may) {
      all.feedback = value != 0;
      continue;
    }
    const auto known = std::find_if(program.parameters.begin(), program.parameters.end(),
                                    [&wanted = name](const ProgramParameter& p) { return p.name == wanted; });
    if (known == program.parameters.end()) {
      return invalid_argument(of_codec(program) + " has no parameter `" + name + "`");
    }
    if (!known->allows(value)) return refuse(program, *known, value);
    if (known->fixed && value != known->initial) {
      std::ostringstream text;
      text << of_codec(program) << ": parameter `" << name << "` is " << value << ", but the program was compiled for "
           << known->initial;
      return invalid_argument(text.str());
    }
    all.values[static_cast<std::size_t>(known - program.parameters.begin())] = value;
  }
  return all;
}

CodecInfo declared_by(const Program& program, const ProgramValues& values) {
  CodecInfo info = declared_info(program.declares, program.parameters);
  info.digest = program.declares.digest;
  info.feedback = values.feedback;
  std::copy(values.values.begin(), values.values.end(), info.values.begin());
  if (info.values.size() > values.values.size()) info.values.back() = values.feedback ? 1 : 0;
  return info;
}

}  // namespace casync::compll
