// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <string_view>

#include "base/env.h"
#include "tools/casync/doctor/finding.h"

extern char** environ;

namespace casync::tools {
namespace {

bool is_secret(std::string_view name) { return name == "CASYNC_TOKEN"; }

/// Checks a variable that is set against its type: a wrong value would stop every session at its start.
void look_at_variable(Findings& findings, const EnvironmentVariable& variable) {
  const std::optional<std::string> text = env_text(variable.name);
  if (!text) return;
  Status status;
  if (variable.type == EnvironmentVariable::Type::kNumber) status = env_number(variable.name).status();
  if (variable.type == EnvironmentVariable::Type::kFlag) status = env_flag(variable.name, true).status();
  const std::string value = is_secret(variable.name) ? "(set; not shown)" : *text;
  findings.push_back(
      {"environment", variable.name, status.is_ok() ? State::kNote : State::kBroken, value, status.message()});
}

}  // namespace

void look_at_environment(Findings& findings) {
  for (const EnvironmentVariable& variable : environment_table()) look_at_variable(findings, variable);
  for (const std::string& sentence : unknown_variables(environ)) {
    findings.push_back({"environment", "unknown variable", State::kWarn, sentence, ""});
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const std::size_t equals = variable.find('=');
    if (variable.substr(0, 4) != "UCX_" || equals == std::string_view::npos) continue;
    findings.push_back({"environment", std::string(variable.substr(0, equals)), State::kNote,
                        std::string(variable.substr(equals + 1)), ""});
  }
}

}  // namespace casync::tools
