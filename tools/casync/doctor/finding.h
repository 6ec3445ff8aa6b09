// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace casync::tools {

/// The severity of a finding. kNote needs no attention; kBroken is something CaSync needs.
enum class State { kOk, kNote, kWarn, kBroken };
const char* name_of(State state);

/// One thing looked at on this machine.
struct Finding {
  std::string section;  ///< "versions", "parts", "machine", ...
  std::string name;
  State state = State::kOk;
  std::string value;  ///< the value found
  std::string hint;   ///< what to do; empty unless kWarn or kBroken
};
using Findings = std::vector<Finding>;

/// Each looks at one side of the machine and adds what it found. None of them changes anything that stays.
void look_at_versions(Findings& findings);
void look_at_python(Findings& findings);       ///< Python and its frameworks, if a wheel has brought this program
void look_at_parts(Findings& findings);        ///< the modules, transports and codecs of this installation
void look_at_machine(Findings& findings);      ///< processor, memory, limits
void look_at_network(Findings& findings);      ///< interfaces, socket buffers, a trial listen
void look_at_environment(Findings& findings);  ///< the CASYNC_* and UCX_* variables set here

/// Lines for people, by section; and the same as a JSON array.
std::string findings_text(const Findings& findings);
nlohmann::ordered_json findings_json(const Findings& findings);
/// One line: if CaSync can work here, and how many findings deserve a look.
std::string verdict_on(const Findings& findings);

bool any_broken(const Findings& findings);

}  // namespace casync::tools
