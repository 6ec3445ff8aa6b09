// SPDX-License-Identifier: Apache-2.0
// casync doctor: what to paste into a bug report.
#include <cstdio>
#include <memory>

#include "tools/casync/doctor/finding.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/print_json.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/version.h"

namespace casync::tools {
namespace {

int examine(bool as_json) {
  Findings findings;
  look_at_versions(findings);
  look_at_python(findings);
  look_at_parts(findings);
  look_at_machine(findings);
  look_at_network(findings);
  look_at_environment(findings);
  const bool broken = any_broken(findings);
  if (as_json) {
    const nlohmann::ordered_json json{{"casync", {{"version", kVersion}, {"abi", kAbi}}},
                                      {"healthy", !broken},
                                      {"verdict", verdict_on(findings)},
                                      {"findings", findings_json(findings)}};
    print_json(json);
  } else {
    std::printf("%s\n%s\n", findings_text(findings).c_str(), verdict_on(findings).c_str());
  }
  if (broken) std::fprintf(stderr, "casync doctor: something CaSync needs is broken here, see above\n");
  return broken ? kExitFailure : kExitOk;
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "Print versions, transports and limits, for a bug report");
  command->add_flag("--json", *json, "Print all findings as a JSON object");
  command->footer("The exit code is 1 if something that CaSync needs is broken. Nothing on the machine is changed.");
  command->callback([=, &invocation] { invocation.exit_code = examine(*json); });
}

}  // namespace casync::tools
