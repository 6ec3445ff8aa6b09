// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/paced_reports.h"

#include <algorithm>
#include <cstddef>

namespace casync::runtime {
namespace {

// Moves what is due from `all` to `due`, keeping the order.
template <class Report>
void take_due(std::vector<Report>& all, std::vector<Report>& due, Clock::time_point now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].at <= now) {
      due.push_back(std::move(all[i]));
    } else if (i != kept++) {
      all[kept - 1] = std::move(all[i]);
    }
  }
  all.resize(kept);
}

}  // namespace

Clock::time_point PacedReports::next() const {
  Clock::time_point next = Clock::time_point::max();
  for (const Sent& sent : sent_) next = std::min(next, sent.at);
  for (const Received& received : received_) next = std::min(next, received.at);
  return next;
}

bool PacedReports::make_due(TransportClient& client, Clock::time_point now) {
  // The client may send from inside these calls, which adds to the lists.
  take_due(sent_, sent_now_, now);
  take_due(received_, received_now_, now);
  const bool any = !sent_now_.empty() || !received_now_.empty();
  for (Sent& sent : sent_now_) client.sent(sent.cookie, std::move(sent.status));
  sent_now_.clear();
  for (Received& received : received_now_) {
    client.received(received.from, received.message, std::move(received.status));
  }
  received_now_.clear();
  return any;
}

}  // namespace casync::runtime
