// SPDX-License-Identifier: Apache-2.0
#include "compll/load/headers.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/env.h"
#include "base/own_folders.h"
#include "compll/load/digest.h"
#include "compll/load/file_text.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMostHeader = 4_MiB;
/// One of each, by which a folder is known.
constexpr const char* kKnown[] = {"compll/ops/generated.h", "base/units.h", "hwy/highway.h"};

bool has_all(const fs::path& folder) {
  std::error_code failed;
  return std::all_of(std::begin(kKnown), std::end(kKnown),
                     [&](const char* file) { return fs::exists(folder / file, failed); });
}

std::vector<fs::path> places() {
  if (const auto wanted = env_text("CASYNC_INCLUDE_DIR")) return {*wanted};
  std::vector<fs::path> found;
  for (const fs::path& folder : own_folders()) {
    found.push_back(folder / "casync/include");
    found.push_back((folder / "../lib/casync/include").lexically_normal());
  }
  return found;
}

/// Ours by their contents, so that an edit counts. Highway's by those two that every version changes.
Result<std::string> digest_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "compll/ops", failed)) {
    if (entry.path().extension() == ".h") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const char* file : {"base/units.h", "hwy/base.h", "hwy/highway.h"}) files.push_back(folder / file);
  DigestWriter digest;
  for (const fs::path& file : files) {
    const Result<std::string> text = file_text(file, kMostHeader);
    if (!text) return text.status();
    digest.add(file.lexically_relative(folder).string()).add(*text);
  }
  return digest.text();
}

}  // namespace

Result<Headers> find_headers() {
  std::string tried;
  for (const fs::path& place : places()) {
    tried += (tried.empty() ? "" : ", ") + place.string();
    if (!has_all(place)) continue;
    const Result<std::string> digest = digest_of(place);
    if (!digest) return digest.status();
    return Headers{place.string(), *digest};
  }
  return unavailable("the headers that a codec's file is compiled with (compll/ops, base/units.h, hwy) are not in " +
                     tried +
                     ": install casync whole, or set CASYNC_INCLUDE_DIR to their folder; built-in codecs "
                     "need none");
}

}  // namespace casync::compll
