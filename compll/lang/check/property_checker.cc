// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/property_checker.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>

#include "base/nearest.h"

namespace casync::compll {
namespace {

constexpr std::string_view kKnown[] = {"summary",  "source",         "number", "version", "class",      "feedback",
                                       "overflow", "shared_numbers", "votes",  "shape",   "exact_merge"};

}  // namespace

void PropertyChecker::check() {
  code_.program.declares.name = tree_.codec.text;
  for (const Property& property : tree_.properties) {
    check_word(property);
    take(property);
  }
}

void PropertyChecker::check_word(const Property& property) const {
  const std::string name = backquoted(property.name.text);
  const auto is_same = [&](const Property& other) { return other.name.text == property.name.text; };
  if (std::count_if(tree_.properties.begin(), tree_.properties.end(), is_same) > 1) {
    code_.refuse(property.name.at, name + " is declared twice");
  }
  if (std::find(std::begin(kKnown), std::end(kKnown), property.name.text) == std::end(kKnown)) {
    code_.refuse(property.name.at, "a codec does not declare " + name + hint(property.name.text, kKnown),
                 "it declares summary, source, number, version, class, feedback, overflow, shared_numbers, votes, "
                 "exact_merge and shape");
  }
  if (!property.second.text.empty() && property.name.text != "shape") {
    code_.refuse(property.second.at, name + " has two values");
  }
}

void PropertyChecker::take(const Property& property) {
  Declarations& declares = code_.program.declares;
  const std::string_view name = property.name.text;
  if (name == "summary") declares.summary = property.value;
  if (name == "source") declares.source = property.value;
  if (name == "number") declares.number = small_number(property);
  if (name == "version") declares.version = small_number(property);
  if (name == "class") take_class(property);
  if (name == "overflow") declares.overflow = magnitude(property);
  if (name == "feedback") take_feedback(property);
  if (name == "shared_numbers") declares.shared_numbers = flag(property);
  if (name == "votes") declares.votes = flag(property);
  if (name == "exact_merge") declares.exact_merge = flag(property);
}

void PropertyChecker::take_class(const Property& property) {
  Declarations& declares = code_.program.declares;
  declares.contractive = property.value == "contractive";
  declares.unbiased = property.value == "unbiased";
  if (declares.contractive || declares.unbiased) return;
  code_.refuse(property.value_at, "there is no class " + backquoted(property.value),
               "a codec is `contractive` (its error is smaller than its input) or `unbiased` (right on average)");
}

void PropertyChecker::take_feedback(const Property& property) {
  Declarations& declares = code_.program.declares;
  const bool offered = property.value == "off";
  (offered ? declares.feedback_offered : declares.feedback) = true;
  if (offered || property.value.empty()) return;
  code_.refuse(property.value_at, "`feedback` has no value but `off`", "write `feedback;` or `feedback off;`");
}

/// Returns true if a property is there.
bool PropertyChecker::flag(const Property& property) const {
  if (property.value.empty()) return true;
  const std::string name(property.name.text);
  code_.refuse(property.value_at, "`" + name + "` has no value", "write `" + name + ";`");
}

const Property* PropertyChecker::find(std::string_view name) const {
  const auto found = std::find_if(tree_.properties.begin(), tree_.properties.end(),
                                  [&](const Property& each) { return each.name.text == name; });
  return found == tree_.properties.end() ? nullptr : &*found;
}

void PropertyChecker::declare_shape() {
  const Property* const shape = find("shape");
  if (shape == nullptr) return;
  if (shape->second.text.empty()) {
    code_.refuse(shape->name.at, "`shape` names two things", "write `shape rows columns;`");
  }
  code_.program.declares.shape = true;
  code_.sizes.declare_shape({shape->value, shape->value_at}, shape->second);
}

std::uint8_t PropertyChecker::small_number(const Property& property) const {
  int value = 0;
  for (const char c : property.value) value = c >= '0' && c <= '9' && value < 1000 ? 10 * value + (c - '0') : 1000;
  if (property.value.empty() || value < 1 || value > 255) {
    code_.refuse(property.value_at, backquoted(property.name.text) + " is a number from 1 to 255");
  }
  return static_cast<std::uint8_t>(value);
}

double PropertyChecker::magnitude(const Property& property) const {
  double value = 0;
  const char* const end = property.value.data() + property.value.size();
  const bool whole = std::from_chars(property.value.data(), end, value).ptr == end;
  if (!whole || !(value > 0) || !std::isfinite(value) || static_cast<double>(static_cast<float>(value)) != value) {
    code_.refuse(property.value_at, "`overflow` is a number above zero that a float holds",
                 "write the least magnitude that becomes infinite: `overflow 65520;`");
  }
  return value;
}

}  // namespace casync::compll
