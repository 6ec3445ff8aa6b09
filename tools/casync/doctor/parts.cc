// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "casync/planner/plan_file.h"
#include "compll/codec/codec.h"
#include "compll/cuda/built_in_text.h"
#include "compll/cuda/kernel_compiler.h"
#include "compll/cuda/shipped_kernels.h"
#include "compll/load/headers.h"
#include "compll/load/system_compiler.h"
#include "runtime/transport/transport.h"
#include "tools/casync/doctor/finding.h"
#include "tools/casync/output_file.h"
#include "tools/casync/own_path.h"
#include "tools/casync/private_directory.h"
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
    status = write_output(path, "version: 1\n");
    if (status) status = read_plan_file(path).status();
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

/// The codec's text, or nothing if the library has no codec of this name.
const compll::CudaCodecText* text_of_codec(const std::string& codec) {
  static std::map<std::string, Result<compll::CudaCodecText>> known;
  const auto& text = known.try_emplace(codec, compll::built_in_text(codec)).first->second;
  return text ? &*text : nullptr;
}

/// Looks for the kernels of built-in codecs that came with the library. Only sessions on a GPU need any.
void look_at_shipped_kernels(Findings& findings) {
  const compll::ShippedKernels shipped = compll::ShippedKernels::find();
  const Result<compll::Headers> headers = compll::find_cuda_headers();
  Finding finding{"parts", "shipped kernels", State::kNote, "", headers.status().message()};
  std::size_t refused = 0;
  for (const std::string& architecture : shipped.architectures()) {
    std::size_t usable = 0;
    for (const std::string& codec : shipped.codecs(architecture)) {
      const compll::CudaCodecText* const text = headers ? text_of_codec(codec) : nullptr;
      const bool good = text != nullptr && shipped.code(*text, headers->digest, architecture);
      good ? ++usable : ++refused;
    }
    finding.value += (finding.value.empty() ? "" : ", ") + architecture + ": " + std::to_string(usable) + " codecs";
  }
  if (finding.value.empty()) finding.value = "none: NVRTC compiles all";
  if (refused != 0 && headers) {
    finding.state = State::kWarn;
    finding.hint = std::to_string(refused) + " files are damaged or of another build; NVRTC compiles these codecs";
  }
  findings.push_back(finding);
}

/// Looks for the compiler of all other kernels.
void look_at_kernel_compiler(Findings& findings) {
  const Result<const compll::KernelCompiler*> compiler = compll::KernelCompiler::find();
  findings.push_back(
      {"parts", "kernel compiler", State::kNote, compiler ? (*compiler)->name() : "none", compiler.status().message()});
}

}  // namespace

void look_at_versions(Findings& findings) {
  findings.push_back({"versions", "casync", State::kNote, kVersion, ""});
  findings.push_back({"versions", "abi", State::kNote, std::to_string(kAbi), ""});
  findings.push_back({"versions", "compiler", State::kNote, "g++ " __VERSION__, ""});
  const Result<std::string> program = own_path();
  findings.push_back({"versions", "program", State::kNote, program ? *program : "unknown", program.status().message()});
}

void look_at_parts(Findings& findings) {
  using Found = runtime::NamedTransport::Found;
  for (const runtime::NamedTransport& transport : runtime::transports()) {
    if (transport.found == Found::kWithHardware) continue;
    look_at_transport(findings, std::string(transport.name), transport.found == Found::kEverywhere);
  }
  look_at_plan_reader(findings);
  look_at_codecs(findings);
  look_at_codec_files(findings);
  look_at_shipped_kernels(findings);
  look_at_kernel_compiler(findings);
}

}  // namespace casync::tools
