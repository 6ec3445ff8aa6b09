// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/kernel_compiler.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "base/own_folders.h"
#include "compll/cuda/compile_kernels.h"
#include "compll/load/cache.h"
#include "compll/load/compile_limit.h"
#include "compll/load/elf_file.h"
#include "compll/load/file_text.h"
#include "compll/load/run_program.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMostCode = 64_MiB;
// NVRTC 13.0 crashes on some texts by where its memory lies: one of the tests' texts in about one run of ten.
constexpr int kRuns = 5;

Result<std::string> find_program() {
  std::string tried;
  for (const fs::path& folder : library_folders()) {
    const fs::path place = folder / "casync";
    const std::string program = (place / kKernelCompiler).string();
    if (::access(program.c_str(), X_OK) == 0) return program;
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  return unavailable(std::string("the program ") + kKernelCompiler + " that NVRTC runs in is not in " + tried +
                     ": install casync whole");
}

/// Returns true if it ended in none of the ways in which it ends by itself.
bool crashed(const ProgramEnd& end) {
  const bool told = end.exit_code == 0 || (end.exit_code >= kTextRefused && end.exit_code <= kNoResult);
  return !end.too_late && (end.signal != 0 || !told);
}

/// One run of the program, as messages name it.
struct Task {
  std::string compiler;      ///< `NVRTC 13.0`
  std::string kernels = {};  ///< `kernel small`; empty: the question for the version
  std::string architecture = {};

  std::string subject() const { return kernels.empty() ? compiler : kernels + ": " + compiler; }
};

std::string named(std::span<const std::string> kernels) {
  std::string names;
  for (const std::string& kernel : kernels) names += (names.empty() ? "" : ", ") + kernel;
  return (kernels.size() == 1 ? "kernel " : "kernels ") + names;
}

Status failure(const ProgramEnd& end, const Task& task, double seconds) {
  const std::string subject = task.subject(), said = first_lines(end.said);
  if (end.too_late) {
    std::ostringstream text;
    text << subject << " was not ready after " << seconds << " s (CASYNC_COMPILE_SEC) and was ended" << said;
    return timeout_error(text.str());
  }
  switch (end.exit_code) {
    case kTextRefused: return compile_error(subject + " refuses what was generated for " + task.architecture + said);
    case kNotAvailable:
      return unavailable(task.kernels.empty() ? end.said.substr(0, end.said.find_last_not_of('\n') + 1)
                                              : subject + " makes nothing for " + task.architecture + said);
    case kNvrtcFailed: return internal_error(subject + " failed" + said);
    case kNoResult: return unavailable(subject + " has no room for its result" + said);
    default: return compile_error(subject + " " + text_of(end) + ", " + std::to_string(kRuns) + " times" + said);
  }
}

/// Runs `words`, after a crash again up to kRuns times. Returns what the program wrote to `result`.
Result<std::string> run(const std::vector<std::string>& words, const fs::path& result, const Task& task) {
  const Result<double> seconds = compile_seconds();
  if (!seconds) return seconds.status();
  Result<ProgramEnd> end = run_program(words, *seconds);
  for (int run = 1; run < kRuns && end && crashed(*end); ++run) end = run_program(words, *seconds);
  if (!end) return end.status();
  if (end->too_late || end->exit_code != 0) return failure(*end, task, *seconds);
  Result<std::string> bytes = file_text(result, kMostCode);
  return bytes ? std::move(bytes) : compile_error(task.subject() + " made nothing: " + bytes.status().message());
}

/// Checks that `code` is a GPU's, or PTX, and has the kernels.
Status check_code(const std::string& code, std::span<const std::string> kernels, bool is_ptx) {
  if (!is_ptx) CASYNC_RETURN_IF_ERROR(check_elf(code, kCudaMachine));
  for (const std::string& kernel : kernels) {
    const std::string mark = is_ptx ? ".entry " + kernel + '(' : ".text." + kernel + '\0';
    if (code.find(mark) == std::string::npos) return data_loss("it has no kernel of this name");
  }
  return Status::ok();
}

bool is_version(const std::string& text) {
  return !text.empty() && text.size() < 16 && text.find('.') != std::string::npos &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

}  // namespace

Result<const KernelCompiler*> KernelCompiler::find() {
  static const auto* const found = new Result<KernelCompiler>(start());  // outlives all other statics
  if (!*found) return found->status();
  return &**found;
}

Result<KernelCompiler> KernelCompiler::start() {
  Result<std::string> program = find_program();
  if (!program) return program.status();
  const Result<PassingFolder> folder = PassingFolder::make();
  if (!folder) return folder.status();
  const fs::path result = folder->path() / "version";
  const Result<std::string> version = run({*program, "version", result.string()}, result, {"NVRTC"});
  if (!version) return version.status();
  if (!is_version(*version)) return compile_error("NVRTC's version is no number: " + version->substr(0, 80));
  KernelCompiler compiler;
  compiler.program_ = *program;
  compiler.name_ = "NVRTC " + *version;
  return compiler;
}

std::vector<std::string> KernelCompiler::options() const {
  std::vector<std::string> options(std::begin(kKernelOptions), std::end(kKernelOptions));
  // Takes a third less time: the text itself says what to inline and unroll. Not every NVRTC 12 knows the option.
  if (!name_.starts_with("NVRTC 12.")) options.emplace_back("--Ofast-compile=min");
  return options;
}

Result<std::string> KernelCompiler::compiled(const std::string& text, std::span<const std::string> kernels,
                                             const std::string& architecture,
                                             std::span<const std::string> options) const {
  const Result<PassingFolder> folder = PassingFolder::make();
  if (!folder) return folder.status();
  const fs::path source = folder->path() / "codec.cu", result = folder->path() / "codec.cubin";
  CASYNC_RETURN_IF_ERROR(write_new_file(source, text));
  std::vector<std::string> words = {program_, "compile", result.string(), source.string(),
                                    "--gpu-architecture=" + architecture};
  words.insert(words.end(), options.begin(), options.end());
  const Task task{name_, named(kernels), architecture};
  Result<std::string> code = run(words, result, task);
  if (!code) return code;
  const Status fits = check_code(*code, kernels, is_virtual(architecture));
  return fits ? std::move(code) : compile_error(task.subject() + " made what is no such kernel: " + fits.message());
}

}  // namespace casync::compll
