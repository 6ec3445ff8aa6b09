// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/folder_entries.h"
#include "tools/casync/doctor/finding.h"

namespace casync::tools {
namespace {

namespace fs = std::filesystem;

/// The folder of Python packages that this program was installed into, "" if there is none.
fs::path packages_folder() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error);
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (folder.filename() == "site-packages" || folder.filename() == "dist-packages") return folder;
  }
  return "";
}

/// The entries of a folder. One that cannot be read is a finding.
std::vector<fs::directory_entry> entries_of(const fs::path& folder, Findings& findings) {
  std::error_code error;
  std::vector<fs::directory_entry> entries = folder_entries(folder, error);
  if (error) {
    findings.push_back({"versions", "frameworks", State::kWarn, folder.string() + ": " + error.message(),
                        "make this folder readable: the frameworks of this Python are not all known without it"});
  }
  return entries;
}

/// A plugin is a folder of our own package. Each framework with its version, which is not known yet.
std::map<std::string, std::string> frameworks_with_plugins(const fs::path& packages, Findings& findings) {
  std::map<std::string, std::string> frameworks;
  std::error_code error;
  for (const fs::directory_entry& entry : entries_of(packages / "casync", findings)) {
    if (fs::exists(entry.path() / "__init__.py", error)) frameworks[entry.path().filename().string()] = "";
  }
  return frameworks;
}

/// The framework that a package is: some have builds of further names, such as tensorflow_cpu and mxnet_cu112. Not
/// every name that goes on behind a framework's is one of them: torch_geometric is a package of its own.
std::string framework_of(const std::string& package) {
  const std::size_t bar = package.rfind('_');
  if (bar == std::string::npos) return package;
  const std::string_view build = std::string_view(package).substr(bar + 1);
  const bool for_cuda = build.size() > 2 && build.starts_with("cu") && build[2] >= '0' && build[2] <= '9';
  return for_cuda || build == "cpu" || build == "gpu" || build == "rocm" ? package.substr(0, bar) : package;
}

}  // namespace

void look_at_python(Findings& findings) {
  const fs::path packages = packages_folder();
  if (packages.empty()) return;
  findings.push_back({"versions", "python", State::kNote, packages.parent_path().filename().string(), ""});
  // Packages are known by folders such as torch-2.13.0+cpu.dist-info: nothing has to be started or imported.
  std::map<std::string, std::string> found = frameworks_with_plugins(packages, findings);
  found["numpy"] = "";
  for (const fs::directory_entry& entry : entries_of(packages, findings)) {
    const std::string name = entry.path().stem().string();
    const std::size_t dash = name.find('-');
    if (entry.path().extension() != ".dist-info" || dash == std::string::npos) continue;
    const auto known = found.find(framework_of(name.substr(0, dash)));
    if (known != found.end()) known->second = name.substr(dash + 1);
  }
  for (const auto& [name, version] : found) {
    if (!version.empty()) findings.push_back({"versions", name, State::kNote, version, ""});
  }
}

}  // namespace casync::tools
