// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cubin.h"

#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "compll/cuda/kernel_compiler.h"
#include "compll/cuda/shipped_kernels.h"
#include "compll/load/cache.h"
#include "compll/load/compile_limit.h"
#include "compll/load/digest.h"
#include "compll/load/headers.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".cubin";

/// Writes an entry to the folder: all of it, or nothing.
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

/// Writes a refused text to the cache's folder so that a person can look at it; the next try replaces it.
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

/// The inputs that all kernels of a text share.
struct Making {
  const KernelCompiler& compiler;
  const Headers& headers;
  const Result<fs::path>& folder;  ///< the cache's folder
  const std::string& text;
  const std::string& architecture;
};

struct Made {
  std::string code;
  bool built = false;
};

/// A kernel's code in the cache, if it is there.
std::optional<Made> cached(const Making& making, const std::string& digest) {
  if (!making.folder) return std::nullopt;
  auto code = read_entry(entry_path(*making.folder, digest, kEnding), digest);
  return code ? std::optional(Made{std::move(*code), false}) : std::nullopt;
}

Result<Made> made(const Making& making, const std::string& kernel) {
  std::vector<std::string> options = making.compiler.options();
  options.emplace_back("--define-macro=COMPLL_HAS_ALL=0");
  options.push_back("--define-macro=COMPLL_HAS_" + kernel + "=1");
  DigestWriter digest;
  digest.add(making.text).add(making.architecture).add(making.headers.digest).add(making.compiler.name());
  for (const std::string& option : options) digest.add(option);
  const std::string name = digest.text();
  if (auto entry = cached(making, name)) return std::move(*entry);
  const Result<double> seconds = compile_seconds();
  if (!seconds) return seconds.status();
  std::optional<EntryLock> lock;
  if (making.folder) {
    lock.emplace(*making.folder, name, *seconds);
    // Another process may have made it while this one waited.
    if (auto entry = cached(making, name)) return std::move(*entry);
    remove_leftovers(*making.folder);
  }
  options.push_back("--include-path=" + making.headers.folder);
  Result<std::string> code = making.compiler.compiled(making.text, {&kernel, 1}, making.architecture, options);
  if (!code) {
    const bool is_of_text = code.status().code() != StatusCode::kUnavailable;
    const std::string place = is_of_text ? kept_text(making.folder, name, making.text) : "";
    return Status(code.status().code(), code.status().message() + place);
  }
  const Status kept = making.folder ? keep(*making.folder, name, *code) : making.folder.status();
  if (!kept) warn_once(kept);
  return Made{std::move(*code), true};
}

/// Compiled by this machine's NVRTC, now or earlier.
Result<Cubin> compiled(const CudaCodecText& codec, const std::string& architecture, const Headers& headers) {
  const Result<const KernelCompiler*> compiler = KernelCompiler::find();
  if (!compiler) return compiler.status();
  const Result<fs::path> folder = cache_folder();
  const Making making{**compiler, headers, folder, text_of(codec), architecture};
  const std::vector<std::string> kernels = kernels_of(codec);
  std::vector<std::future<Result<Made>>> all;
  for (const std::string& kernel : kernels) {
    // No launch policy: without a free thread the calling one compiles.
    all.push_back(std::async([&] { return made(making, kernel); }));
  }
  Cubin cubin;
  cubin.compiler = (*compiler)->name();
  Status status = Status::ok();
  for (std::future<Result<Made>>& each : all) {
    Result<Made> one = each.get();
    if (status && !one) status = one.status();
    if (!one) continue;
    cubin.built = cubin.built || one->built;
    cubin.code.push_back(std::move(one->code));
  }
  return status ? Result<Cubin>(std::move(cubin)) : status;
}

}  // namespace

Result<Cubin> cubin_of(const CudaCodecText& codec, const std::string& architecture) {
  const Result<Headers> headers = find_cuda_headers();
  if (!headers) return headers.status();
  using Kind = ShippedKernels::Kind;
  const ShippedKernels shipped = ShippedKernels::find();
  auto code = shipped.code_on(architecture, Kind::kMachineCode, codec, headers->digest);
  if (code) return Cubin{{std::move(*code)}, false, "the build of casync"};
  Result<Cubin> made = compiled(codec, architecture, *headers);
  if (made || made.status().code() != StatusCode::kUnavailable) return made;
  code = shipped.code_on(architecture, Kind::kPtx, codec, headers->digest);
  return code ? Cubin{{std::move(*code)}, false, "the build of casync to PTX"} : std::move(made);
}

}  // namespace casync::compll
