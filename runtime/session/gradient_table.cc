// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/gradient_table.h"

#include <string_view>
#include <utility>

namespace casync::runtime {
namespace {

constexpr std::string_view kGradient = "gradient ";

}  // namespace

Result<std::optional<GradientId>> GradientTable::find(const Declared& declared) const {
  const auto known = ids_.find(declared.spec.name);
  if (known != ids_.end()) {
    const Declared& before = declared_[static_cast<std::size_t>(known->second)];
    if (before.text == declared.text) return std::optional(known->second);
    return invalid_argument("gradient " + declared.spec.name + " was declared as " + before.text + ", and now as " +
                            declared.text);
  }
  for (const Declared& other : declared_) {
    if (other.key == declared.key) {
      return invalid_argument("gradients " + other.spec.name + " and " + declared.spec.name +
                              " have the same 64-bit hash: rename one");
    }
  }
  return std::optional<GradientId>();
}

GradientId GradientTable::add(Declared declared) {
  const auto id = GradientId(static_cast<std::uint32_t>(declared_.size()));
  ids_.emplace(declared.spec.name, id);
  declared_.push_back(std::move(declared));
  runs_.push_back(nullptr);
  return id;
}

std::vector<GradientSpec> GradientTable::specs() const {
  std::vector<GradientSpec> specs;
  for (const Declared& declared : declared_) specs.push_back(declared.spec);
  return specs;
}

std::vector<Claim> GradientTable::take_claims() {
  std::vector<Claim> claims;
  for (; claimed_ < declared_.size(); ++claimed_) {
    const std::string name = claim_name(claimed_);
    claims.push_back({name, {{name, declared_[claimed_].text}}});
  }
  return claims;
}

std::string GradientTable::claim_name(std::size_t gradient) const {
  return std::string(kGradient) + declared_[gradient].spec.name;
}

std::optional<std::size_t> GradientTable::claimed(const std::string& name) const {
  if (!name.starts_with(kGradient)) return std::nullopt;
  return static_cast<std::size_t>(ids_.at(name.substr(kGradient.size())));
}

}  // namespace casync::runtime
