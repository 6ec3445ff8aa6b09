// SPDX-License-Identifier: Apache-2.0
#include "compll/load/headers.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "base/env.h"
#include "base/own_folders.h"
#include "compll/load/digest.h"
#include "compll/load/file_text.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMostHeader = 4_MiB;

/// The headers that one kind of text includes.
struct Kind {
  std::span<const char* const> known;  ///< one of each, by which a folder is known
  const char *what, *otherwise;        ///< in words
  const char* ours;                    ///< the folder of ours: digested by content, so that an edit counts
  bool kernels;                        ///< those of GPUs, too
  std::span<const char* const> others;
};

constexpr const char* kCpuKnown[] = {"compll/ops/generated.h", "base/units.h", "hwy/highway.h"};
// Highway's headers by the two that every version changes.
constexpr const char* kCpuOthers[] = {"base/units.h", "hwy/base.h", "hwy/highway.h"};
constexpr Kind kCpu = {kCpuKnown,
                       "a codec's file is compiled with (compll/ops, base/units.h, hwy)",
                       "; built-in codecs need none",
                       "compll/ops",
                       false,
                       kCpuOthers};
constexpr const char* kCudaKnown[] = {"compll/ops/cuda/launch.h", "compll/ops/cuda/vector_form.cuh"};
constexpr const char* kCudaOthers[] = {"compll/ops/coding.h", "compll/ops/sizes.h"};
constexpr Kind kCuda = {kCudaKnown, "kernels are compiled with (compll/ops/cuda)", "", "compll/ops/cuda", true,
                        kCudaOthers};

bool has_all(const Kind& kind, const fs::path& folder) {
  std::error_code failed;
  return std::all_of(kind.known.begin(), kind.known.end(),
                     [&](const char* file) { return fs::exists(folder / file, failed); });
}

std::vector<fs::path> places() {
  if (const auto wanted = env_text("CASYNC_INCLUDE_DIR")) return {*wanted};
  std::vector<fs::path> found;
  for (const fs::path& folder : library_folders()) found.push_back(folder / "casync/include");
  return found;
}

Result<std::string> digest_of(const Kind& kind, const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator i(folder / kind.ours, failed), end; !failed && i != end; i.increment(failed)) {
    const fs::path ending = i->path().extension();
    if (ending == ".h" || (kind.kernels && ending == ".cuh")) files.push_back(i->path());
  }
  if (failed) return unavailable((folder / kind.ours).string() + ": " + failed.message());
  std::sort(files.begin(), files.end());
  for (const char* file : kind.others) files.push_back(folder / file);
  DigestWriter digest;
  for (const fs::path& file : files) {
    const Result<std::string> text = file_text(file, kMostHeader);
    if (!text) return text.status();
    digest.add(file.lexically_relative(folder).string()).add(*text);
  }
  return digest.text();
}

Result<Headers> find(const Kind& kind) {
  std::string tried;
  for (const fs::path& place : places()) {
    tried += (tried.empty() ? "" : ", ") + place.string();
    if (!has_all(kind, place)) continue;
    const Result<std::string> digest = digest_of(kind, place);
    if (!digest) return digest.status();
    return Headers{place.string(), *digest};
  }
  return unavailable(std::string("the headers that ") + kind.what + " are not in " + tried +
                     ": install casync whole, or set CASYNC_INCLUDE_DIR to their folder" + kind.otherwise);
}

}  // namespace

Result<Headers> find_headers() { return find(kCpu); }
Result<Headers> find_cuda_headers() { return find(kCuda); }

}  // namespace casync::compll
