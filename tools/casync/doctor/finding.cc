// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/doctor/finding.h"

#include <algorithm>

namespace casync::tools {

const char* name_of(State state) {
  switch (state) {
    case State::kOk: return "ok";
    case State::kNote: return "note";
    case State::kWarn: return "warn";
    case State::kBroken: return "broken";
  }
  return "?";
}

std::string findings_text(const Findings& findings) {
  std::string text, section;
  for (const Finding& finding : findings) {
    if (finding.section != section) text += (section.empty() ? "" : "\n") + finding.section + "\n";
    section = finding.section;
    std::string state = finding.state == State::kNote ? "" : name_of(finding.state);
    state.resize(7, ' ');
    std::string name = finding.name;
    if (name.size() < 22) name.resize(22, ' ');
    text.append("  ").append(state).append(name).append(" ").append(finding.value).append("\n");
    if (!finding.hint.empty()) text += "           -> " + finding.hint + "\n";
  }
  return text;
}

nlohmann::ordered_json findings_json(const Findings& findings) {
  auto json = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    json.push_back({{"section", finding.section},
                    {"name", finding.name},
                    {"state", name_of(finding.state)},
                    {"value", finding.value},
                    {"hint", finding.hint}});
  }
  return json;
}

std::string verdict_on(const Findings& findings) {
  const auto count = [&](State state) {
    return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.state == state; });
  };
  const auto broken = count(State::kBroken), warnings = count(State::kWarn);
  std::string text = broken == 0 ? "CaSync can work here" : "CaSync cannot work here: ";
  if (broken != 0) text += std::to_string(broken) + (broken == 1 ? " finding is broken" : " findings are broken");
  if (warnings != 0) text += ", " + std::to_string(warnings) + (warnings == 1 ? " warning" : " warnings") + " above";
  return text;
}

bool any_broken(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.state == State::kBroken; });
}

}  // namespace casync::tools
