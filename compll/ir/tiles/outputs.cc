// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

void add(std::vector<Output>& all, Output::Kind kind, const std::vector<ValueId>& values) {
  for (std::uint32_t i = 0; i < values.size(); ++i) all.push_back({kind, i, values[i]});
}

}  // namespace

std::vector<Output> outputs_of(const EncodeGraph& encode) {
  std::vector<Output> all;
  add(all, Output::Kind::kSection, encode.sections);
  if (encode.residual) add(all, Output::Kind::kResidual, {*encode.residual});
  add(all, Output::Kind::kState, encode.states);
  return all;
}

std::vector<Output> outputs_of(const ResultGraph& result) {
  std::vector<Output> all = {{Output::Kind::kResult, 0, result.result}};
  add(all, Output::Kind::kState, result.states);
  return all;
}

std::vector<ValueId> values_of(const std::vector<Output>& outputs) {
  std::vector<ValueId> all;
  for (const Output& output : outputs) all.push_back(output.value);
  return all;
}

}  // namespace casync::compll
