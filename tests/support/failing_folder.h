// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync::test {

/// While one lives, reading any folder fails after so many entries, "." and ".." included, as on a disk that is gone.
/// Not for several threads.
class FailingFolders {
 public:
  explicit FailingFolders(int entries);
  ~FailingFolders();
  FailingFolders(const FailingFolders&) = delete;
  FailingFolders& operator=(const FailingFolders&) = delete;
};

}  // namespace casync::test
