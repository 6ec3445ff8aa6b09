// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/control/group/claim_book.h"
#include "runtime/control/group/facts.h"

namespace casync::runtime {

/// The claims of this rank. Other ranks see digests only: the facts stay here until rank 0 asks for them.
class OwnClaims {
 public:
  /// Keeps the claims, and returns how rank 0 sees them.
  std::vector<ClaimDigest> keep(std::vector<Claim> claims);
  /// Null: this rank has not claimed `name`.
  const Facts* facts_of(const std::string& name) const;
  /// The claim whose name has this key, "" for none.
  std::string name_of(std::string_view key) const;

 private:
  std::map<std::string, Facts> facts_;
  std::map<std::string, std::string, std::less<>> names_;  ///< by key
};

/// 16 bytes that stand for a name in messages to all ranks.
inline constexpr Bytes kNameKeyBytes = 16;
std::string key_of_name(std::string_view name);

}  // namespace casync::runtime
