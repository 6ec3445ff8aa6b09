// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codec/codec.h"

namespace casync::compll {

/// `feedback`: 0 or 1.
CodecParameter feedback_parameter(bool initial);

/// Builds the info of a program, or of the code generated from it, with the initial values of its parameters.
template <class Declaration, class Parameters>
CodecInfo declared_info(const Declaration& declares, const Parameters& parameters) {
  CodecInfo info;
  info.name = declares.name;
  info.summary = declares.summary;
  info.source = declares.source;
  info.number = declares.number;
  info.version = declares.version;
  info.contractive = declares.contractive;
  info.feedback = declares.feedback;
  info.shared_numbers = declares.shared_numbers;
  info.votes = declares.votes;
  info.exact_merge = declares.exact_merge;
  for (const auto& parameter : parameters) {
    info.parameters.push_back({parameter.name, parameter.initial, parameter.least, parameter.most, parameter.meaning});
  }
  if (declares.feedback || declares.feedback_offered) info.parameters.push_back(feedback_parameter(declares.feedback));
  for (const CodecParameter& parameter : info.parameters) info.values.push_back(parameter.initial);
  return info;
}

/// InvalidArgument: the codec has no parameter of this name; with the nearest one, and all of them.
Status unknown_parameter(const CodecInfo& info, const std::string& name);

}  // namespace casync::compll
