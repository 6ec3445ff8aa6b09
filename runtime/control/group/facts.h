// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// Named values of one rank, each name once, in an order that is the same on every rank that has the same values.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The facts as bytes for the wire.
std::string encode_facts(const Facts& facts);
/// DataLoss: not the bytes of encode_facts().
Result<Facts> decode_facts(std::string_view bytes);

/// 32 bytes that are equal where the facts are.
std::string digest_of(const Facts& facts);

/// The facts of one rank.
struct FactsOf {
  Rank rank = 0;
  const Facts& facts;
};

/// The first fact in which two ranks differ, with both values: "op: rank 0 has sum, rank 3 has average". A rank without
/// that fact "has nothing". "" when they are equal.
std::string first_difference(const FactsOf& one, const FactsOf& other);

/// A statement that every rank has to make with the same facts. The name tells statements apart.
struct Claim {
  std::string name;
  Facts facts;
};

}  // namespace casync::runtime
