// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/transport/report_queue.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Reports of a paced transport to its client, which are made once their time has come. Reports of one kind that are
/// due together are made in the order in which they were added.
class PacedReports {
 public:
  void add_sent(std::uint64_t cookie, Status status, Clock::time_point at) {
    sent_.push_back({cookie, std::move(status), at});
  }
  void add_received(Rank from, const Message& message, Status status, Clock::time_point at) {
    received_.push_back({from, message, std::move(status), at});
  }
  /// The next `count` calls of add_sent(), or of add_received(), allocate nothing.
  void make_room_for_sent(std::size_t count) { make_room(sent_, count); }
  void make_room_for_received(std::size_t count) { make_room(received_, count); }
  bool empty() const { return sent_.empty() && received_.empty() && !any_due(); }
  /// The time of the next report; the end of time if there is none.
  Clock::time_point next() const;

  /// Makes the reports that are due, each once even if the client throws: sent() ahead of received(). The client may
  /// add more meanwhile. True when there were any.
  bool make_due(TransportClient& client, Clock::time_point now);

 private:
  struct Sent {
    std::uint64_t cookie = 0;
    Status status;
    Clock::time_point at;
  };
  struct Received {
    Rank from = 0;
    Message message;
    Status status;
    Clock::time_point at;
  };

  template <class Report>
  static void make_room(std::vector<Report>& reports, std::size_t count) {
    const std::size_t wanted = reports.size() + count;
    if (wanted > reports.capacity()) reports.reserve(std::max(wanted, 2 * reports.capacity()));
  }
  bool any_due() const { return !due_sent_.empty() || !due_received_.empty(); }

  std::vector<Sent> sent_;  // in no order of their times: there are few
  std::vector<Received> received_;
  ReportQueue<Sent> due_sent_;
  ReportQueue<Received> due_received_;
};

}  // namespace casync::runtime
