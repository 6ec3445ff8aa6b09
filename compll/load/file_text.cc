// SPDX-License-Identifier: Apache-2.0
#include "compll/load/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/codec_file.h"
#include "base/unique_fd.h"

namespace casync::compll {

Result<std::string> file_text(const std::filesystem::path& path, Bytes most) {
  const auto refuse = [&](const std::string& why) { return invalid_argument(path.string() + ": " + why); };
  // A pipe without a writer would keep a blocking open waiting.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return refuse(errno == ENOENT ? "no such file" : std::strerror(errno));
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return refuse("not a file");
  if (static_cast<Bytes>(info.st_size) > most) {
    return refuse(std::to_string(info.st_size) + " bytes, expected at most " + std::to_string(most));
  }
  // Reads no further than the size just seen: the file may be growing.
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(got)) {
    got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return refuse(std::strerror(errno));
  }
  text.resize(size);
  return text;
}

Result<Source> program_source(const std::string& name) {
  std::vector<SourceFile> files;
  Bytes left = kMostSource;
  for (const std::string& path : codec_files(name)) {
    Result<std::string> text = file_text(path, left);
    if (!text) return text.status();
    left -= text->size();
    files.push_back({path, *std::move(text)});
  }
  if (files.size() > 2) {
    return invalid_argument(name + ": " + std::to_string(files.size()) +
                            " files, expected one, or one with encode and one with decode");
  }
  return Source(files);
}

}  // namespace casync::compll
