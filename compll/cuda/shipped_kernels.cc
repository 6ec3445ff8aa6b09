// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/shipped_kernels.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/env.h"
#include "base/folder_entries.h"
#include "base/own_folders.h"
#include "compll/cuda/kernel_compiler.h"
#include "compll/load/cache.h"
#include "compll/load/digest.h"
#include "compll/load/file_text.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMostFile = 64_MiB;
// Tools that look for object files of the host, as auditwheel does, leave a file with this beginning alone.
constexpr std::string_view kMark = "casync kernels\n";
constexpr std::string_view kTegras[] = {"sm_87", "sm_88", "sm_101"};

/// The number of `sm_90` or `compute_90`: ten times the major version, plus the minor one. 0: it has none.
int version_of(std::string_view architecture) {
  const std::size_t line = architecture.find('_');
  if (line == std::string_view::npos) return 0;
  const char* const end = architecture.data() + architecture.size();
  int version = 0;
  const auto read = std::from_chars(architecture.data() + line + 1, end, version);
  return read.ec == std::errc() && read.ptr == end ? version : 0;
}

bool is_tegra(std::string_view architecture) {
  return std::find(std::begin(kTegras), std::end(kTegras), architecture) != std::end(kTegras);
}

fs::path find_folder() {
  if (const auto wanted = env_text("CASYNC_KERNEL_DIR")) return *wanted;
  for (const fs::path& folder : library_folders()) {
    std::error_code failed;
    if (fs::is_directory(folder / "casync/kernels", failed)) return folder / "casync/kernels";
  }
  return {};
}

/// The digest of a file's sources. NVRTC's version does not count: a machine may have another one, or none.
std::string digest_of(const CudaCodecText& codec, const std::string& headers, const std::string& architecture) {
  DigestWriter digest;
  digest.add(text_of(codec)).add(headers).add(architecture);
  for (const char* option : kKernelOptions) digest.add(option);
  return digest.text();
}

}  // namespace

bool runs_on(const std::string& architecture, const std::string& device) {
  const int from = version_of(architecture), on = version_of(device);
  if (from == 0 || on < from) return false;
  if (is_virtual(architecture) || from == on) return true;
  return from / 10 == on / 10 && !is_tegra(architecture) && !is_tegra(device);
}

ShippedKernels ShippedKernels::find() { return ShippedKernels(find_folder()); }

ShippedKernels::ShippedKernels(fs::path folder) : folder_(std::move(folder)) {
  std::error_code failed;
  for (const auto& each : folder_entries(folder_, failed)) {
    const std::string name = each.path().filename().string();
    if (version_of(name) != 0 && each.is_directory(failed)) architectures_.push_back(name);
  }
  std::sort(architectures_.begin(), architectures_.end(),
            [](const std::string& a, const std::string& b) { return version_of(a) < version_of(b); });
}

std::vector<std::string> ShippedKernels::codecs(const std::string& architecture) const {
  std::vector<std::string> all;
  std::error_code failed;
  for (const auto& each : folder_entries(folder_ / architecture, failed)) {
    all.push_back(each.path().filename().string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

fs::path ShippedKernels::file(const std::string& codec, const std::string& architecture) const {
  return folder_ / architecture / codec;
}

std::optional<std::string> ShippedKernels::code(const CudaCodecText& codec, const std::string& headers,
                                                const std::string& architecture) const {
  Result<std::string> bytes = file_text(file(name_of(codec), architecture), kMostFile);
  if (!bytes) return std::nullopt;
  std::optional<std::string> content = unsealed(std::move(*bytes), digest_of(codec, headers, architecture));
  if (!content || !content->starts_with(kMark)) return std::nullopt;
  return content->substr(kMark.size());
}

std::optional<std::string> ShippedKernels::code_on(const std::string& device, Kind kind, const CudaCodecText& codec,
                                                   const std::string& headers) const {
  for (auto each = architectures_.rbegin(); each != architectures_.rend(); ++each) {
    if (is_virtual(*each) != (kind == Kind::kPtx) || !runs_on(*each, device)) continue;
    if (auto found = code(codec, headers, *each)) return found;
  }
  return std::nullopt;
}

Status ShippedKernels::write(const CudaCodecText& codec, const std::string& headers, const std::string& architecture,
                             const std::string& code) const {
  const fs::path path = file(name_of(codec), architecture);
  const fs::path passing = unique_name(path.string());
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  Status status = write_new_file(passing, sealed(std::string(kMark) + code, digest_of(codec, headers, architecture)));
  if (status) fs::permissions(passing, fs::perms(0644), error);
  if (status) fs::rename(passing, path, error);
  if (status && error) status = unavailable(path.string() + ": " + error.message());
  if (!status) fs::remove(passing, error);
  return status;
}

}  // namespace casync::compll
