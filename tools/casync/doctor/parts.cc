// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include "casync/planner/plan_file.h"
#include "compll/codec/codec.h"
#include "compll/load/headers.h"
#include "compll/load/system_compiler.h"
#include "runtime/transport/transport.h"
#include "tools/casync/doctor/finding.h"
#include "tools/casync/launch/private_directory.h"
#include "tools/casync/version.h"

namespace casync::tools {
namespace {

/// A module that only this build or this machine lacks is no fault: the others work without it.
State state_of(const Status& status) {
  return status.is_ok() ? State::kOk : status.code() == StatusCode::kUnimplemented ? State::kWarn : State::kBroken;
}

/// Opens the transport for a job of one, which loads its module and its libraries as a real job would.
void look_at_transport(Findings& findings, const std::string& name, bool needed) {
  const Result<std::unique_ptr<runtime::Transport>> transport = runtime::make_transport(name, {});
  Finding finding{"parts", "transport " + name, state_of(transport.status()), "", ""};
  if (transport) {
    finding.value = (*transport)->description();
  } else {
    finding.value = "cannot be opened";
    finding.hint = transport.status().message();
    if (!needed && finding.state == State::kBroken) finding.state = State::kWarn;
  }
  findings.push_back(finding);
}

/// Plan files are read by a module of their own: a plan of one line shows that it loads.
void look_at_plan_reader(Findings& findings) {
  Status status;
  Result<PrivateDirectory> directory = PrivateDirectory::make();
  if (directory) {
    const std::string path = directory->path() + "/plan.txtpb";
    std::ofstream(path) << "version: 1\n";
    status = read_plan_file(path).status();
  } else {
    status = directory.status();
  }
  findings.push_back({"parts", "plan reader", state_of(status), status.is_ok() ? "reads plan files" : "does not work",
                      status.message()});
}

void look_at_codecs(Findings& findings) {
  std::string names;
  for (const std::string& name : compll::codec_names()) names += (names.empty() ? "" : " ") + name;
  findings.push_back({"parts", "codecs", names.empty() ? State::kBroken : State::kOk, names, ""});
}

/// Looks for the compiler and headers that codecs from files need. Built-in ones need neither.
void look_at_codec_files(Findings& findings) {
  const Result<compll::SystemCompiler> compiler = compll::find_compiler();
  const Result<compll::Headers> headers = compll::find_headers();
  findings.push_back({"parts", "codec compiler", compiler ? State::kOk : State::kWarn,
                      compiler ? compiler->command.front() : "none", compiler.status().message()});
  findings.push_back({"parts", "codec headers", headers ? State::kOk : State::kWarn,
                      headers ? headers->folder : "not found", headers.status().message()});
}

}  // namespace

void look_at_versions(Findings& findings) {
  findings.push_back({"versions", "casync", State::kNote, kVersion, ""});
  findings.push_back({"versions", "abi", State::kNote, std::to_string(kAbi), ""});
  findings.push_back({"versions", "compiler", State::kNote, "g++ " __VERSION__, ""});
  findings.push_back(
      {"versions", "program", State::kNote, std::filesystem::read_symlink("/proc/self/exe").string(), ""});
}

void look_at_parts(Findings& findings) {
  look_at_transport(findings, "ucx", true);
  look_at_transport(findings, "ucx:tcp", true);
  look_at_transport(findings, "ucx:shm", false);
  look_at_transport(findings, "loopback", true);
  look_at_plan_reader(findings);
  look_at_codecs(findings);
  look_at_codec_files(findings);
}

}  // namespace casync::tools
