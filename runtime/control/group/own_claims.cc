// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/own_claims.h"

#include "runtime/control/wire/crypto.h"

namespace casync::runtime {

std::string key_of_name(std::string_view name) { return sha256(name).substr(0, kNameKeyBytes); }

std::vector<ClaimDigest> OwnClaims::keep(std::vector<Claim> claims) {
  std::vector<ClaimDigest> digests;
  for (Claim& claim : claims) {
    digests.push_back({claim.name, digest_of(claim.facts)});
    names_.emplace(key_of_name(claim.name), claim.name);
    facts_.emplace(std::move(claim.name), std::move(claim.facts));
  }
  return digests;
}

const Facts* OwnClaims::facts_of(const std::string& name) const {
  const auto found = facts_.find(name);
  return found == facts_.end() ? nullptr : &found->second;
}

std::string OwnClaims::name_of(std::string_view key) const {
  const auto found = names_.find(key);
  return found == names_.end() ? "" : found->second;
}

}  // namespace casync::runtime
