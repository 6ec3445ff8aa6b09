// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/compare_info.h"

#include <algorithm>

namespace casync::compll::test {
namespace {

bool is_called_alike(const CodecParameter& a, const CodecParameter& b) {
  return a.name == b.name && a.meaning == b.meaning;
}

}  // namespace

std::string info_difference(const CodecInfo& meaning, const CodecInfo& made) {
  if (meaning.name != made.name) return "name";
  if (meaning.summary != made.summary) return "summary";
  if (meaning.source != made.source) return "source";
  if (meaning.number != made.number) return "number";
  if (meaning.version != made.version) return "version";
  if (meaning.identity != made.identity) return "identity";
  if (meaning.exact_merge != made.exact_merge) return "exact_merge";
  if (meaning.votes != made.votes) return "votes";
  if (meaning.contractive != made.contractive) return "contractive";
  if (meaning.feedback != made.feedback) return "feedback";
  if (meaning.states != made.states) return "states";
  if (meaning.state_initial != made.state_initial) return "state_initial";
  if (meaning.coded_terms != made.coded_terms) return "coded_terms";
  if (meaning.shared_numbers != made.shared_numbers) return "shared_numbers";
  if (meaning.has_result != made.has_result) return "has_result";
  if (meaning.rounds != made.rounds) return "rounds";
  if (meaning.exchanges != made.exchanges) return "exchanges";
  if (meaning.of_matrices != made.of_matrices) return "of_matrices";
  if (meaning.block != made.block) return "block";
  if (meaning.bits_per_element != made.bits_per_element) return "bits_per_element";
  if (meaning.values != made.values) return "values";
  const bool alike = std::equal(meaning.parameters.begin(), meaning.parameters.end(), made.parameters.begin(),
                                made.parameters.end(), is_called_alike);
  return alike ? "" : "parameters";
}

}  // namespace casync::compll::test
