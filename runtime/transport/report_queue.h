// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace casync::runtime {

/// Reports that wait for their call to a transport's client. Invariant: each leaves the queue ahead of its call, so
/// that a client that throws hears it once, and the reports behind it the next time.
template <class Report>
class ReportQueue {
 public:
  void add(Report report) { reports_.push_back(std::move(report)); }
  /// The next `count` calls of add() throw nothing.
  void make_room(std::size_t count) { reports_.reserve(reports_.size() + count); }
  bool empty() const { return taken_ == reports_.size(); }

  /// Calls make(report) for each that is here now, in order. Those that are added meanwhile wait for the next call.
  /// True when there were any.
  template <class Make>
  bool make_all(Make make) {
    forget_taken();
    const std::size_t count = reports_.size();
    while (taken_ < count) {
      Report report = std::move(reports_[taken_++]);  // the list may grow, and move, during the call
      make(report);
    }
    forget_taken();
    return count != 0;
  }

 private:
  void forget_taken() {
    reports_.erase(reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }

  std::vector<Report> reports_;
  std::size_t taken_ = 0;  // of those, from the front; kept until the call ends, or the next one begins
};

}  // namespace casync::runtime
