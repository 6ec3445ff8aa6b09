// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace casync::tools {
namespace {

Status refused(const std::string& path) { return unavailable(path + ": cannot be written: " + std::strerror(errno)); }

}  // namespace

Status check_writable(const std::string& path) {
  if (path.empty()) return Status::ok();
  std::error_code ignored;
  const bool existed = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::binary | std::ios::app)) return refused(path);
  if (!existed) std::filesystem::remove(path, ignored);
  return Status::ok();
}

Status write_output(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? Status::ok() : refused(path);
}

}  // namespace casync::tools
