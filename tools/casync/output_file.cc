// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace casync::tools {
namespace {

namespace fs = std::filesystem;

Status refused(const std::string& path) { return unavailable(path + ": cannot be written: " + std::strerror(errno)); }

bool write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream file(path, std::ios::binary);
  if (!file) return false;
  write(file);
  file.close();
  return static_cast<bool>(file);
}

/// Returns true if another file can take the place of this one: devices and pipes stay where they are, and so does a
/// link to a file that is not there yet.
bool may_be_replaced(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) return false;
  if (fs::is_symlink(path, ignored)) return false;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return ::access(folder.c_str(), W_OK) == 0;
}

}  // namespace

Status check_writable(const std::string& path) {
  if (path.empty()) return Status::ok();
  std::error_code ignored;
  const bool existed = fs::exists(path, ignored);
  if (fs::is_fifo(path, ignored)) return ::access(path.c_str(), W_OK) == 0 ? Status::ok() : refused(path);
  if (!std::ofstream(path, std::ios::binary | std::ios::app)) return refused(path);
  if (!existed) fs::remove(fs::canonical(path, ignored), ignored);  // of a link, the file that it leads to
  return Status::ok();
}

Status write_output(const std::string& path, const std::string& text) {
  return write_output(path, [&](std::ostream& file) { file << text; });
}

Status write_output(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);  // of a link, the file that it leads to
  if (error || !may_be_replaced(target)) return write_file(path, write) ? Status::ok() : refused(path);
  const fs::path part = target.string() + ".part" + std::to_string(::getpid());  // ranks of one machine write at once
  const bool written = write_file(part, write);
  Status status = written ? Status::ok() : refused(path);
  const fs::file_status before = fs::status(target, error);
  if (written && fs::exists(before)) fs::permissions(part, before.permissions(), error);
  if (written && std::rename(part.c_str(), target.c_str()) != 0) status = refused(path);
  if (!status.is_ok()) fs::remove(part, error);
  return status;
}

}  // namespace casync::tools
