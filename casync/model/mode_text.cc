// SPDX-License-Identifier: Apache-2.0
#include "casync/model/mode_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace casync {
namespace {

/// " every: 4"; "" of a value that plans leave out.
std::string field(const char* name, std::uint32_t value, std::uint32_t unsaid) {
  return value == unsaid ? "" : std::string(" ") + name + ": " + std::to_string(value);
}

/// " gamma: 0.5", in the shortest text that reads back as the same number.
std::string text_of_gamma(double gamma) {
  char text[32];
  return gamma > 0 ? " gamma: " + std::string(text, std::to_chars(text, text + sizeof(text), gamma).ptr) : "";
}

std::string text_of_asynchronous(const Asynchronous& rule) {
  const std::string bound = rule.bound ? " bound: " + std::to_string(*rule.bound) : "";
  return "asynchronous {" + bound + field("first", rule.first, 1) + " }";
}

constexpr std::uint32_t kMostSteps = 1'000'000'000;  // as plan files have it

/// The number after `name`; 0 where there is none.
std::uint32_t number_after(std::string_view name, std::string_view text) {
  std::uint32_t number = 0;
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return number;
  static_cast<void>(std::from_chars(text.data() + at + name.size(), text.data() + text.size(), number));
  return number;
}

}  // namespace

std::string text_of(const SyncMode& mode) {
  if (mode.staleness > 0) return "staleness: " + std::to_string(mode.staleness);
  if (mode.is_asynchronous()) return text_of_asynchronous(*mode.asynchronous);
  if (!mode.is_local()) return "";
  const std::string from = field("from_step", mode.from_step, 0);
  if (!mode.is_gossip()) return "local_sgd {" + field("every", mode.every, 0) + from + " }";
  const char* const neighbours = mode.neighbours == Neighbours::kRing ? "ring" : "pairs";
  return std::string("gossip { neighbours: ") + neighbours + field("every", mode.every, 1) + from +
         text_of_gamma(mode.gamma) + " }";
}

std::optional<SyncMode> local_sgd_from(std::string_view text) {
  SyncMode mode;
  mode.every = number_after(" every: ", text);
  mode.from_step = number_after(" from_step: ", text);
  const bool said = mode.is_local() && text_of(mode) == text;
  return said && std::max(mode.every, mode.from_step) <= kMostSteps ? std::optional(mode) : std::nullopt;
}

}  // namespace casync
