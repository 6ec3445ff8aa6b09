// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/batch.h"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "compll/codegen/cpu/cpu.h"
#include "compll/load/headers.h"
#include "compll/load/run_program.h"
#include "compll/load/system_compiler.h"

namespace casync::compll::test {
namespace {

constexpr double kSeconds = 1800;
// Without optimization it saves a seventh of the time if programs share the functions that they call.
constexpr const char* kSharedFunctions = "#include <hwy/base.h>\n#undef HWY_INLINE\n#define HWY_INLINE inline\n";

void replace_all(std::string& text, const std::string& before, const std::string& after) {
  for (std::size_t at = 0; (at = text.find(before, at)) != text.npos; at += after.size()) {
    text.replace(at, before.size(), after);
  }
}

/// The text for one instruction set, with everything of its own in a namespace of this name.
std::string in_namespace(std::string text, const std::string& name) {
  std::istringstream lines(text);
  std::string kept, line;
  while (std::getline(lines, line)) {
    const bool several_sets = line.find("HWY_TARGET_INCLUDE") != line.npos ||
                              line.find("foreach_target.h") != line.npos || line.starts_with("HWY_EXPORT(");
    if (!several_sets) kept += line + "\n";
  }
  const std::string begin = "namespace casync::compll::HWY_NAMESPACE {\nnamespace {";
  CASYNC_CHECK(kept.find(begin) != kept.npos);
  replace_all(kept, begin, "namespace casync::compll::HWY_NAMESPACE {\nnamespace " + name + " {");
  replace_all(kept, "HWY_DYNAMIC_DISPATCH(", "HWY_STATIC_DISPATCH(" + name + "::");
  return kept;
}

std::string visible(const std::string& function) {
  return "extern \"C\" __attribute__((visibility(\"default\"))) const GeneratedCodec* " + function + "();\n";
}

std::vector<std::string> flags_of(const CompilerSettings& settings) {
  std::vector<std::string> flags = compiler_flags();
  const auto replace = [&](const std::string& start, const std::vector<std::string>& by) {
    std::erase_if(flags, [&](const std::string& flag) { return flag.starts_with(start); });
    flags.insert(flags.end(), by.begin(), by.end());
  };
  if (!settings.optimized) replace("-O", {"-O0"});
  if (settings.instruction_set == "avx2") replace("-march=", {"-march=haswell"});
  if (settings.instruction_set == "sse4") replace("-march=", {"-march=westmere"});
  if (settings.instruction_set == "plain") {
    replace("-march=", {});
    replace("-maes", {});
    replace("-mpclmul", {});
    replace("-DHWY_COMPILE_ONLY_STATIC", {"-DHWY_COMPILE_ONLY_EMU128"});
  }
  return flags;
}

}  // namespace

Result<std::vector<const GeneratedCodec*>> compile_batch(const std::vector<std::string>& names,
                                                         const std::vector<std::string>& texts,
                                                         const CompilerSettings& settings, const std::string& folder) {
  const Result<SystemCompiler> compiler = find_compiler();
  if (!compiler) return compiler.status();
  const Result<Headers> headers = find_headers();
  if (!headers) return headers.status();
  const std::string source = folder + "/batch.cc", object = folder + "/batch.so";
  std::ofstream file(source);
  if (!settings.optimized) file << kSharedFunctions;
  file << "#include \"compll/ops/generated.h\"\nnamespace casync::compll {\n";
  for (const std::string& name : names) file << visible(generated_name(name));
  file << "}\n";
  for (std::size_t i = 0; i < texts.size(); ++i) file << in_namespace(texts[i], names[i]) << "\n";
  file.close();
  std::vector<std::string> command = compiler->command;
  const std::vector<std::string> flags = flags_of(settings);
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-I" + headers->folder, source, "-o", object});
  const Result<ProgramEnd> end = run_program(command, kSeconds);
  if (!end) return end.status();
  if (end->exit_code != 0 || end->too_late) {
    return compile_error("the compiler ended with " + std::to_string(end->exit_code) + ":\n" + end->said);
  }
  void* const loaded = ::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return compile_error(::dlerror());
  std::vector<const GeneratedCodec*> codecs;
  for (const std::string& name : names) {
    const auto function = reinterpret_cast<const GeneratedCodec* (*)()>(::dlsym(loaded, generated_name(name).c_str()));
    if (function == nullptr) return compile_error(name + " is not in its shared object");
    codecs.push_back(function());
  }
  return codecs;
}

}  // namespace casync::compll::test
