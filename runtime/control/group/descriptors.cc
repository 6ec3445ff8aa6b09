// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/descriptors.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

namespace casync::runtime {
namespace {

rlim_t open_descriptors() {
  std::error_code error;
  rlim_t count = 0;
  for (std::filesystem::directory_iterator i("/proc/self/fd", error), end; !error && i != end; i.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

Status reserve_descriptors(const DescriptorNeed& need) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::ok();
  const rlim_t open = open_descriptors();
  const rlim_t wanted = open + static_cast<rlim_t>(std::max(need.wanted, need.least));
  if (limit.rlim_cur < wanted) {
    const rlimit raised = {std::min(wanted, limit.rlim_max), limit.rlim_max};
    if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= open + static_cast<rlim_t>(need.least)) return Status::ok();
  return unavailable(
      fmt::format("too few file descriptors: {} are open, {} more are needed ({}), and the hard limit is {}. Raise it "
                  "with \"ulimit "
                  "-Hn\", LimitNOFILE= of systemd, or --ulimit nofile= of docker",
                  open, need.least, need.what, limit.rlim_max));
}

}  // namespace casync::runtime
