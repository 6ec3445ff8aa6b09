// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/wire.h"

namespace casync::runtime {
namespace {

std::string value_of(const Facts& facts, const std::string& name) {
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == name; });
  return found == facts.end() ? "nothing" : found->second;
}

}  // namespace

std::string encode_facts(const Facts& facts) {
  WireWriter writer;
  for (const auto& [name, value] : facts) writer.text(name).text(value);
  return writer.take();
}

Result<Facts> decode_facts(std::string_view bytes) {
  const Bytes most = bytes.size();
  WireReader reader(bytes);
  Facts facts;
  while (reader.ok() && !reader.done()) {
    std::string name(reader.text(most));
    facts.emplace_back(std::move(name), reader.text(most));
  }
  if (!reader.done()) return data_loss("malformed facts");
  return facts;
}

std::string digest_of(const Facts& facts) { return sha256(encode_facts(facts)); }

std::string first_difference(const FactsOf& one, const FactsOf& other) {
  const auto [a, b] = std::mismatch(one.facts.begin(), one.facts.end(), other.facts.begin(), other.facts.end());
  const auto difference_in = [&](const std::string& name) {
    const std::string first = value_of(one.facts, name), second = value_of(other.facts, name);
    if (first == second) return std::string();
    return fmt::format("{}: rank {} has {}, rank {} has {}", name, one.rank, first, other.rank, second);
  };
  std::string difference = a != one.facts.end() ? difference_in(a->first) : "";
  // The other rank may have that fact later, after one that the first rank has not.
  if (difference.empty() && b != other.facts.end()) difference = difference_in(b->first);
  return difference;
}

}  // namespace casync::runtime
