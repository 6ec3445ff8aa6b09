// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/declaration.h"

#include "base/check.h"

namespace casync::compll {
namespace {

constexpr double kMostBlock = 65536;  // a tile of larger blocks would not stay in the second-level cache

const double* find_value(const CodecInfo& info, const char* name) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    if (info.parameters[i].name == name) return &info.values[i];
  }
  return nullptr;
}

}  // namespace

double value_of(const CodecInfo& info, const char* name) {
  const double* value = find_value(info, name);
  CASYNC_CHECK(value != nullptr);
  return *value;
}

CodecParameter feedback_parameter(bool initial) {
  return {"feedback", initial ? 1.0 : 0.0, 0, 1, "1 keeps what a step did not send and adds it to the next"};
}

CodecParameter block_parameter(Elements initial, Elements least) {
  return {"block", static_cast<double>(initial), static_cast<double>(least), kMostBlock,
          "elements that share statistics, a power of two"};
}

void apply_parameters(CodecInfo& info) {
  if (const double* feedback = find_value(info, "feedback")) info.feedback = *feedback == 1;
  info.states = info.feedback ? 1 : 0;
  info.state_initial.assign(info.states, 0.0f);
  if (const double* block = find_value(info, "block")) info.block = static_cast<Elements>(*block);
}

}  // namespace casync::compll
