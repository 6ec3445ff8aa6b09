// SPDX-License-Identifier: Apache-2.0
//
// Compiled codecs on disk. An entry is a shared object, or a GPU's code, followed by a seal: the digest of its inputs
// and a checksum of its bytes. Loading a file runs it, so an entry is taken only from a folder and a file that nobody
// else can write.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"

namespace casync::compll {

/// $CASYNC_CACHE_DIR, else $XDG_CACHE_HOME/casync, else ~/.cache/casync; made (mode 0700) if it is missing, as are the
/// folders above it. One that cannot be made, is a link, is somebody else's, to which others may write, or that is
/// below a folder that others may replace is not used: then it is casync-cache-UID in $TMPDIR or /tmp, under the same
/// conditions, and a warning says why, once. Unavailable: neither can be used; says why.
Result<std::filesystem::path> cache_folder();

/// Checks that no other user can replace a folder that is there, or one above it: a folder's owner and its writers can
/// replace the next. Unavailable: says which.
Status check_ways(const std::filesystem::path& folder);

/// The path of the entry with this digest, which need not exist.
std::filesystem::path entry_path(const std::filesystem::path& folder, const std::string& digest,
                                 const std::string& ending = ".so");

/// The sealed content, if the entry is whole, made from this digest's inputs and owned and writable by this user alone.
std::optional<std::string> read_entry(const std::filesystem::path& path, const std::string& digest);

/// Returns true if there is such an entry. Reads all of it: a shared object that was cut off would end the process, not
/// the loading.
bool is_entry(const std::filesystem::path& path, const std::string& digest);

/// An entry's bytes of this content, and the content of an entry's bytes, if they are whole and of this digest.
std::string sealed(std::string_view content, const std::string& digest);
std::optional<std::string> unsealed(std::string bytes, const std::string& digest);

/// Makes a shared object that was just compiled an entry, without naming it so. Unavailable: it cannot be written.
Status seal_entry(const std::filesystem::path& path, const std::string& digest);

/// A new file of this text. Unavailable: there is one of that name, or it cannot be written.
Status write_new_file(const std::filesystem::path& path, const std::string& text);

/// Removes leftovers of killed compilations in `folder`, an hour after: texts, objects, GPUs' code and locks that are
/// no entries. Entries stay.
void remove_leftovers(const std::filesystem::path& folder);

/// Returns true if `folder` has no room for an object of a codec.
bool is_full(const std::filesystem::path& folder);

/// A name that no other process, also of another machine, and no other call uses.
std::string unique_name(const std::string& digest);

/// While it lives, the other processes of this machine that want the same entry wait.
class EntryLock {
 public:
  /// Returns without the lock after so many seconds: then two may compile the same, which does no harm.
  EntryLock(const std::filesystem::path& folder, const std::string& digest, double seconds);
  ~EntryLock();
  EntryLock(const EntryLock&) = delete;
  EntryLock& operator=(const EntryLock&) = delete;

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  bool held_ = false;
};

/// A folder of this process alone, removed with its content.
class PassingFolder {
 public:
  /// Unavailable: it cannot be made in $TMPDIR or /tmp.
  static Result<PassingFolder> make();
  PassingFolder(PassingFolder&& other) noexcept { path_.swap(other.path_); }
  PassingFolder& operator=(PassingFolder&&) = delete;
  ~PassingFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Keeps the folder: something in it is to be looked at.
  void keep() { path_.clear(); }

 private:
  PassingFolder() = default;
  std::filesystem::path path_;
};

}  // namespace casync::compll
