// SPDX-License-Identifier: Apache-2.0
//
// Compiled codecs on disk. An entry is a shared object, or a GPU's code, and, behind it, a seal: what it was made from
// and a checksum of its bytes. Loading a file runs it, so an entry is taken only from a folder and a file that nobody
// else can write.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace casync::compll {

/// $CASYNC_CACHE_DIR, else $XDG_CACHE_HOME/casync, else ~/.cache/casync; made (mode 0700) where it is missing.
/// Unavailable: it cannot be made, is a link, is somebody else's, or others may write to it; says which.
Result<std::filesystem::path> cache_folder();

/// Where the entry with this digest is, or would be.
std::filesystem::path entry_path(const std::filesystem::path& folder, const std::string& digest,
                                 const std::string& ending = ".so");

/// What was sealed, if the entry is whole, made from this and this user's alone.
std::optional<std::string> read_entry(const std::filesystem::path& path, const std::string& digest);

/// Whether there is such an entry. Reads all of it: a shared object that was cut off would end the process, not the
/// loading.
bool is_entry(const std::filesystem::path& path, const std::string& digest);

/// Makes a shared object that was just compiled an entry, but for its name. Unavailable: it cannot be written.
Status seal_entry(const std::filesystem::path& path, const std::string& digest);

/// A new file of this text. Unavailable: there is one of that name, or it cannot be written.
Status write_new_file(const std::filesystem::path& path, const std::string& text);

/// Removes what compilations left in `folder` that were killed, an hour after: texts, objects and locks that are no
/// entries. Entries stay.
void remove_leftovers(const std::filesystem::path& folder);

/// Whether `folder` has no room for an object of a codec.
bool is_full(const std::filesystem::path& folder);

/// A name that no other process and no other call uses.
std::string unique_name(const std::string& digest);

/// While it lives, the other processes of this machine that want the same entry wait.
class EntryLock {
 public:
  /// Returns without the lock when it cannot be had until then: then two may compile the same, which does no harm.
  EntryLock(const std::filesystem::path& folder, const std::string& digest,
            std::chrono::steady_clock::time_point deadline);
  ~EntryLock();
  EntryLock(const EntryLock&) = delete;
  EntryLock& operator=(const EntryLock&) = delete;

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  bool held_ = false;
};

/// A folder of this process alone, removed with what is in it.
class PassingFolder {
 public:
  /// Unavailable: it cannot be made in $TMPDIR or /tmp.
  static Result<PassingFolder> make();
  PassingFolder(PassingFolder&& other) noexcept { path_.swap(other.path_); }
  PassingFolder& operator=(PassingFolder&&) = delete;
  ~PassingFolder();

  const std::filesystem::path& path() const { return path_; }
  /// It stays: something in it is to be looked at.
  void keep() { path_.clear(); }

 private:
  PassingFolder() = default;
  std::filesystem::path path_;
};

}  // namespace casync::compll
