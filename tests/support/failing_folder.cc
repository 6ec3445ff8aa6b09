// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_folder.h"

#include <dirent.h>
#include <dlfcn.h>

#include <cerrno>

namespace casync::test {
namespace {

constexpr int kNever = -1;

int entries_left = kNever;

}  // namespace

FailingFolders::FailingFolders(int entries) { entries_left = entries; }
FailingFolders::~FailingFolders() { entries_left = kNever; }

}  // namespace casync::test

/// Takes the place of the C library's, also for the standard library.
extern "C" __attribute__((visibility("default"))) dirent* readdir(DIR* folder) {
  using Read = dirent* (*)(DIR*);
  static const Read next = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "readdir"));
  int& left = casync::test::entries_left;
  if (left == 0) {
    errno = EIO;
    return nullptr;
  }
  if (left > 0) --left;
  return next(folder);
}
