// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace casync::runtime {

/// Names that other ranks wait for and this rank has not claimed. A rank that ends a step without claiming such a name
/// never will: it learns here which. Any thread; holds its mutex for look-ups only.
class LateNames {
 public:
  void claimed(const std::string& name);
  /// Another rank waits for `name` in `step`. Returns true if this rank has ended that step without the name.
  bool needed(const std::string& name, std::uint32_t step);
  /// This rank ends `step`. Returns the names that others wait for in it or in an earlier one.
  std::vector<std::string> end(std::uint32_t step);
  /// The next step is `step`: a state was loaded.
  void go_to(std::uint32_t step);

 private:
  std::mutex mutex_;
  std::set<std::string> claimed_;
  std::map<std::string, std::uint32_t> needed_;  ///< the step of each
  std::uint32_t ended_ = 0;                      ///< number of steps this rank has ended
};

}  // namespace casync::runtime
