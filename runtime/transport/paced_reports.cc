// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/paced_reports.h"

#include <algorithm>
#include <cstddef>

namespace casync::runtime {
namespace {

// Moves what is due from `all` to `due`, keeping the order.
template <class Report>
void take_due(std::vector<Report>& all, ReportQueue<Report>& due, Clock::time_point now) {
  due.make_room(all.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].at <= now) {
      due.add(std::move(all[i]));
    } else if (i != kept++) {
      all[kept - 1] = std::move(all[i]);
    }
  }
  all.resize(kept);
}

}  // namespace

Clock::time_point PacedReports::next() const {
  if (any_due()) return Clock::time_point::min();
  Clock::time_point next = Clock::time_point::max();
  for (const Sent& sent : sent_) next = std::min(next, sent.at);
  for (const Received& received : received_) next = std::min(next, received.at);
  return next;
}

bool PacedReports::make_due(TransportClient& client, Clock::time_point now) {
  // The client may send from inside these calls, which adds to the lists.
  take_due(sent_, due_sent_, now);
  take_due(received_, due_received_, now);
  const bool any_sent = due_sent_.make_all([&](Sent& sent) { client.sent(sent.cookie, std::move(sent.status)); });
  const bool any_received = due_received_.make_all(
      [&](Received& received) { client.received(received.from, received.message, std::move(received.status)); });
  return any_sent || any_received;
}

}  // namespace casync::runtime
