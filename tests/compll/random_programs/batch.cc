// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/batch.h"

#include <dlfcn.h>

#include <algorithm>
#include <sstream>

#include "compll/codegen/cpu/cpu.h"
#include "compll/load/headers.h"
#include "compll/load/system_compiler.h"
#include "tests/compll/random_programs/shared_object.h"

namespace casync::compll::test {
namespace {

// Without optimization it saves a seventh of the time if programs share the functions that they call.
constexpr const char* kSharedFunctions = "#include <hwy/base.h>\n#undef HWY_INLINE\n#define HWY_INLINE inline\n";

void replace_all(std::string& text, const std::string& before, const std::string& after) {
  for (std::size_t at = 0; (at = text.find(before, at)) != text.npos; at += after.size()) {
    text.replace(at, before.size(), after);
  }
}

/// The text for one instruction set.
std::string for_one_set(const std::string& text) {
  std::istringstream lines(text);
  std::string kept, line;
  while (std::getline(lines, line)) {
    const bool several_sets = line.find("HWY_TARGET_INCLUDE") != line.npos ||
                              line.find("foreach_target.h") != line.npos || line.starts_with("HWY_EXPORT(");
    if (!several_sets) kept += line + "\n";
  }
  replace_all(kept, "HWY_DYNAMIC_DISPATCH(", "HWY_STATIC_DISPATCH(");
  return kept;
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

std::string text_of(const std::vector<std::string>& names, const std::vector<std::string>& texts,
                    const CompilerSettings& settings) {
  std::string text = settings.optimized ? "" : kSharedFunctions;
  for (const std::string& name : names) text += visible_declaration(name);
  for (const std::string& each : texts) text += for_one_set(each) + "\n";
  return text;
}

}  // namespace

Result<std::vector<const GeneratedCodec*>> compile_batch(const std::vector<std::string>& names,
                                                         const std::vector<std::string>& texts,
                                                         const CompilerSettings& settings, const std::string& folder) {
  const Result<Headers> headers = find_headers();
  if (!headers) return headers.status();
  const Result<void*> loaded =
      load_object({text_of(names, texts, settings), flags_of(settings), *headers}, settings.kept, folder);
  if (!loaded) return loaded.status();
  std::vector<const GeneratedCodec*> codecs;
  for (const std::string& name : names) {
    const auto function = reinterpret_cast<const GeneratedCodec* (*)()>(::dlsym(*loaded, generated_name(name).c_str()));
    if (function == nullptr) return compile_error(name + " is not in its shared object");
    codecs.push_back(function());
  }
  return codecs;
}

}  // namespace casync::compll::test
