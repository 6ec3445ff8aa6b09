// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cubin.h"

#include <filesystem>
#include <mutex>
#include <sstream>
#include <vector>

#include "base/log.h"
#include "compll/cuda/nvrtc.h"
#include "compll/load/cache.h"
#include "compll/load/digest.h"
#include "compll/load/headers.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr int kShownLines = 12;
constexpr const char* kEnding = ".cubin";

/// Puts an entry into the folder: whole, or not at all.
Status keep(const fs::path& folder, const std::string& digest, const std::string& code) {
  const fs::path file = folder / (unique_name(digest) + kEnding);
  Status status = write_new_file(file, code);
  if (status) status = seal_entry(file, digest);
  std::error_code error;
  if (status) fs::rename(file, entry_path(folder, digest, kEnding), error);
  if (status && error) status = unavailable(file.string() + ": " + error.message());
  if (!status) fs::remove(file, error);
  return status;
}

std::string first_lines(const std::string& text) {
  std::istringstream stream(text);
  std::string lines, line;
  for (int i = 0; i < kShownLines && std::getline(stream, line); ++i) lines += "\n  " + line;
  return lines;
}

/// Where a text stays that was refused, for whoever looks into it: the next try replaces it.
std::string kept_text(const Result<fs::path>& folder, const std::string& digest, const std::string& text) {
  if (!folder) return "";
  std::error_code ignored;
  const fs::path file = *folder / (digest + ".cu");
  fs::remove(file, ignored);
  return write_new_file(file, text) ? "\n  the text is " + file.string() : "";
}

void warn_once(const Status& status) {
  static std::once_flag once;
  std::call_once(once, [&] {
    log().warn("kernels are compiled anew in each process, their cache cannot be used: {}", status.message());
  });
}

}  // namespace

Result<Cubin> cubin_of(const std::string& text, const std::string& architecture) {
  const Result<const Nvrtc*> nvrtc = Nvrtc::find();
  if (!nvrtc) return nvrtc.status();
  const Result<Headers> headers = find_cuda_headers();
  if (!headers) return headers.status();
  // --fmad: docs/language.md promises that nothing is contracted.
  // Generic lambdas have no other way to say that they are the device's.
  std::vector<std::string> options = {"--gpu-architecture=" + architecture, "--std=c++20", "--fmad=false",
                                      "--device-as-default-execution-space"};
  // A third less time. What to inline and to unroll the text says itself. Not all of NVRTC 12 know the option.
  if (!(*nvrtc)->version().starts_with("12.")) options.emplace_back("--Ofast-compile=min");
  DigestWriter digest;
  digest.add(text).add(headers->digest).add((*nvrtc)->version());
  for (const std::string& option : options) digest.add(option);
  const std::string name = digest.text(), compiler = "NVRTC " + (*nvrtc)->version();
  const Result<fs::path> folder = cache_folder();
  if (folder) {
    if (auto code = read_entry(entry_path(*folder, name, kEnding), name)) return Cubin{*code, false, compiler};
  }
  options.push_back("--include-path=" + headers->folder);
  Result<std::string> code = (*nvrtc)->compiled(text, options);
  if (!code) {
    return Status(code.status().code(), compiler + " refuses what was generated for " + architecture +
                                            first_lines(code.status().message()) + kept_text(folder, name, text));
  }
  const Status kept = folder ? keep(*folder, name, *code) : folder.status();
  if (!kept) warn_once(kept);
  return Cubin{std::move(*code), true, compiler};
}

}  // namespace casync::compll
