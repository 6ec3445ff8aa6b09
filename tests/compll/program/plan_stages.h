// SPDX-License-Identifier: Apache-2.0
//
// The stages of a plan as text, for golden files.
#pragma once

#include <set>
#include <sstream>
#include <string>

namespace casync::compll {

/// Lines of `now` that `before` does not have, in their order.
inline std::string added(const std::string& before, const std::string& now) {
  std::multiset<std::string> known;
  std::istringstream old_lines(before), lines(now);
  for (std::string line; std::getline(old_lines, line);) known.insert(line);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto found = known.find(line);
    if (found == known.end()) text += line + "\n";
    if (found != known.end()) known.erase(found);
  }
  return text;
}

/// Runs the passes over the plan, and returns the lines that each of them adds to its text.
template <class Plan, class Passes>
std::string stages_of(Plan& plan, const Passes& passes) {
  std::string text, before;
  for (const auto& pass : passes) {
    pass.run(plan);
    const std::string now = text_of(plan);
    text += std::string("= ") + pass.name + "\n" + added(before, now);
    before = now;
  }
  return text;
}

}  // namespace casync::compll
