// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/profile_file.h"

#include "casync/planner/plan_library.h"
#include "casync/planner/plan_module.h"

namespace casync {

Result<Profile> read_profile_file(const std::string& path) {
  return read_through_library<Profile>(kProfileReader, "profile file", path);
}

Result<std::string> text_of_profile(const Profile& profile) {
  return write_through_library(kProfileWriter, "profile file", profile);
}

}  // namespace casync
