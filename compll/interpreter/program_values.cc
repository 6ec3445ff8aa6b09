// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/program_values.h"

#include <algorithm>
#include <sstream>

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
  const Declarations& declares = program.declares;
  CodecInfo info;
  info.name = declares.name;
  info.summary = declares.summary;
  info.source = declares.source;
  info.number = declares.number;
  info.version = declares.version;
  info.digest = declares.digest;
  info.contractive = declares.contractive;
  info.feedback = values.feedback;
  info.shared_numbers = declares.shared_numbers;
  for (const ProgramParameter& parameter : program.parameters) {
    info.parameters.push_back({parameter.name, parameter.initial, parameter.least, parameter.most, parameter.meaning});
  }
  info.values = values.values;
  if (declares.feedback || declares.feedback_offered) {
    info.parameters.push_back(
        {kFeedback, declares.feedback ? 1.0 : 0.0, 0, 1, "1 keeps what a step did not send and adds it to the next"});
    info.values.push_back(values.feedback ? 1 : 0);
  }
  return info;
}

}  // namespace casync::compll
