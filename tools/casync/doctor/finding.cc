// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/doctor/finding.h"

#include <algorithm>
#include <fstream>

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

bool any_broken(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.state == State::kBroken; });
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace casync::tools
