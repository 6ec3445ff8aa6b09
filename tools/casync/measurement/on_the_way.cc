// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/measurement/on_the_way.h"

#include <algorithm>
#include <tuple>

namespace casync::tools {
namespace {

using WayInterval = MessageWay::Interval;
using WaysOfSteps = std::map<std::pair<Rank, std::int32_t>, std::vector<WayInterval>>;

/// The name that both ends of a message share. A codec of rounds may give several messages of a step the same name,
/// one after the other.
auto name_of(const MessageSpan& span) {
  return std::tuple(span.sender(), span.receiver(), span.step, span.gradient, span.partition, span.hop);
}

/// `see(send, recv)` of each message: the one end of it and the other, null where it is not among `spans`. These are in
/// the order of ways_of().
template <class See>
void for_each_message(const std::vector<MessageSpan>& spans, const See& see) {
  for (std::size_t begin = 0, end = 0; begin < spans.size(); begin = end) {
    while (end < spans.size() && name_of(spans[end]) == name_of(spans[begin])) ++end;
    std::size_t recvs = begin;
    while (recvs < end && spans[recvs].sending) ++recvs;
    const std::size_t messages = std::max(recvs - begin, end - recvs);
    for (std::size_t i = 0; i < messages; ++i) {
      see(begin + i < recvs ? &spans[begin + i] : nullptr, recvs + i < end ? &spans[recvs + i] : nullptr);
    }
  }
}

/// The lead of each receiver's clock over each sender's.
class Clocks {
 public:
  Clocks(const std::vector<MessageSpan>& spans, const std::vector<std::string>& hosts) : hosts_(hosts) {
    for_each_message(spans, [&](const MessageSpan* send, const MessageSpan* recv) {
      if (send == nullptr || recv == nullptr) return;
      const double way = recv->to_s - send->from_s;
      const auto [found, added] = shortest_.try_emplace({send->rank, recv->rank}, way);
      if (!added) found->second = std::min(found->second, way);
    });
  }

  double ahead(Rank sender, Rank receiver) const {
    if (hosts_.empty() || host(sender) == host(receiver)) return 0;
    const auto there = shortest_.find({sender, receiver}), back = shortest_.find({receiver, sender});
    if (there == shortest_.end() || back == shortest_.end()) return 0;
    return (there->second - back->second) / 2;
  }

 private:
  const std::string& host(Rank rank) const { return hosts_[static_cast<std::size_t>(rank)]; }

  const std::vector<std::string>& hosts_;
  std::map<std::pair<Rank, Rank>, double> shortest_;
};

}  // namespace

double seconds_of(std::vector<WayInterval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const WayInterval& a, const WayInterval& b) {
    return std::tie(a.from_s, a.to_s) < std::tie(b.from_s, b.to_s);
  });
  double sum = 0, until = 0;
  bool first = true;
  for (const auto& [from, to] : intervals) {
    const double begin = first ? from : std::max(from, until);
    sum += std::max(0.0, to - begin);
    until = first ? to : std::max(until, to);
    first = false;
  }
  return sum;
}

std::vector<MessageWay> ways_of(std::vector<MessageSpan> spans, const std::vector<std::string>& hosts) {
  std::sort(spans.begin(), spans.end(), [](const MessageSpan& a, const MessageSpan& b) {
    return std::tuple(name_of(a), !a.sending, a.from_s) < std::tuple(name_of(b), !b.sending, b.from_s);
  });
  const Clocks clocks(spans, hosts);
  std::vector<MessageWay> ways;
  for_each_message(spans, [&](const MessageSpan* send, const MessageSpan* recv) {
    const double ahead = send != nullptr && recv != nullptr ? clocks.ahead(send->rank, recv->rank) : 0;
    const MessageSpan& one = send != nullptr ? *send : *recv;
    MessageWay way{one.sender(), one.receiver(), one.step, one.bytes, {}, {}};
    if (send != nullptr) way.out = WayInterval{send->from_s, recv != nullptr ? recv->to_s - ahead : send->to_s};
    if (recv != nullptr) way.in = WayInterval{send != nullptr ? send->from_s + ahead : recv->from_s, recv->to_s};
    ways.push_back(way);
  });
  return ways;
}

OnTheWayOf on_the_way(std::vector<MessageSpan> spans, const std::vector<std::string>& hosts) {
  WaysOfSteps out, in;
  for (const MessageWay& way : ways_of(std::move(spans), hosts)) {
    if (way.out) out[{way.sender, way.step}].push_back(*way.out);
    if (way.in) in[{way.receiver, way.step}].push_back(*way.in);
  }
  OnTheWayOf made;
  for (auto& [step, intervals] : out) made[step].out_s = seconds_of(std::move(intervals));
  for (auto& [step, intervals] : in) made[step].in_s = seconds_of(std::move(intervals));
  return made;
}

OnTheWayOf on_the_way(const std::vector<SimulatedSpan>& spans) {
  std::vector<MessageSpan> messages;
  for (const SimulatedSpan& span : spans) {
    if (span.kind != SimulatedKind::kSend && span.kind != SimulatedKind::kRecv) continue;
    messages.push_back({span.kind == SimulatedKind::kSend, span.rank, span.peer, span.step, span.gradient,
                        span.partition, span.hop, span.from_s, span.to_s, static_cast<double>(span.bytes)});
  }
  return on_the_way(std::move(messages), {});
}

}  // namespace casync::tools
