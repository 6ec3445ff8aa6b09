// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/paced.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/transport/fifo.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/paced_reports.h"
#include "runtime/transport/pool.h"

namespace casync::runtime {
namespace {

using Time = Clock::time_point;

class Paced final : public Transport, private TransportClient {
 public:
  Paced(std::unique_ptr<Transport> inner, Link link, int ranks)
      : inner_(std::move(inner)), link_(std::move(link)), failed_(static_cast<std::size_t>(ranks), false) {}

  std::string address() const override { return inner_->address(); }
  Status connect(std::span<const std::string> addresses, TransportClient& client) override {
    client_ = &client;
    return inner_->connect(addresses, *this);
  }
  void send(Rank to, std::span<const Outgoing> outgoing) override;
  void retry_held() override { inner_->retry_held(); }
  void retry_held(std::uint64_t gradient) override { inner_->retry_held(gradient); }
  bool progress() override;
  void wait(Time deadline) override;
  void wake() override { inner_->wake(); }
  void settle() override { settling_ = true; }
  bool settled() const override { return inner_settling_ && inner_->settled(); }
  std::vector<Rank> unsettled() const override { return inner_->unsettled(); }
  bool close(Time deadline) override;
  TransportStats stats() const override { return inner_->stats(); }
  Bytes announced_bytes(Rank to) const override { return inner_->announced_bytes(to); }
  std::string description() const override { return inner_->description() + " link=" + link_.text; }

 private:
  // Waits until the link is free.
  struct Waiting {
    Rank to = 0;
    Time since;
    std::vector<Outgoing> outgoing;
    Waiting* next = nullptr;
  };
  // With the inner transport; its cookie there is the address of this.
  struct Leaving {
    std::uint64_t cookie = 0;
    Time gone;  // when its last byte has left
  };

  Placement place(Rank from, const Message& message) override;
  void received(Rank from, const Message& message, Status status) override;
  void sent(std::uint64_t cookie, Status status) override;
  void failed(Rank peer, Status status) override;

  bool has_failed(Rank peer) const { return failed_[static_cast<std::size_t>(peer)]; }
  bool start_what_may_leave(Time now);
  bool start_for_failed(Time now);
  void make_room_for(const Waiting& waiting);
  void start(Waiting& waiting, Time gone);
  bool report(Time now) { return reports_.make_due(*client_, now); }
  Time next_event() const;
  bool idle() const { return waiting_.empty() && leaving_.in_use() == 0 && reports_.empty(); }

  std::unique_ptr<Transport> inner_;
  Link link_;
  TransportClient* client_ = nullptr;
  std::vector<bool> failed_;  // by rank
  std::size_t placed_ = 0;    // messages that have a place, and are not complete
  Pool<Waiting> waiting_pool_;
  Fifo<Waiting> waiting_;
  Pool<Leaving> leaving_;
  PacedReports reports_;
  Time egress_free_{}, ingress_free_{};
  bool settling_ = false;  // once all has left, and then:
  bool inner_settling_ = false;
  bool closing_ = false;
  bool any_failed_ = false;
};

Bytes wire_bytes(const std::vector<Outgoing>& outgoing) {
  Bytes total = 0;
  for (const Outgoing& out : outgoing) total += kFrameHeaderBytes + out.payload.size;
  return total;
}

void Paced::send(Rank to, std::span<const Outgoing> outgoing) {
  Waiting* waiting = waiting_pool_.take();
  waiting->to = to;
  waiting->since = Clock::now();
  waiting->outgoing.assign(outgoing.begin(), outgoing.end());
  waiting_.push(waiting);
  start_what_may_leave(waiting->since);
}

// A message begins when the one in front of it has left, even if we look later: the rate holds over time.
bool Paced::start_what_may_leave(Time now) {
  bool any = any_failed_ && start_for_failed(now);
  while (!waiting_.empty()) {
    Waiting& first = *waiting_.front();
    if (!closing_ && egress_free_ > now) return any;
    make_room_for(first);
    if (!closing_) egress_free_ = std::max(egress_free_, first.since) + link_.time_of(wire_bytes(first.outgoing));
    waiting_.pop();
    start(first, closing_ ? now : egress_free_);
    any = true;
  }
  return any;
}

// Nothing for a peer that failed takes any time, nor waits for the link.
bool Paced::start_for_failed(Time now) {
  bool any = false;
  for (Waiting* at = waiting_.front(); at != nullptr;) {
    Waiting& waiting = *std::exchange(at, at->next);
    if (!has_failed(waiting.to)) continue;
    make_room_for(waiting);
    waiting_.remove(&waiting);
    start(waiting, now);
    any = true;
  }
  return any;
}

// Reserves the memory of all reports that a message will have. Without memory the message stays in its queue; reports
// of messages that have left, or have a place, need none.
void Paced::make_room_for(const Waiting& waiting) {
  leaving_.make_ready(waiting.outgoing.size());
  reports_.make_room_for_sent(leaving_.in_use() + waiting.outgoing.size());
}

void Paced::start(Waiting& waiting, Time gone) {
  for (Outgoing& out : waiting.outgoing) {
    Leaving* leaving = leaving_.take();
    *leaving = {.cookie = out.cookie, .gone = gone};
    out.cookie = reinterpret_cast<std::uintptr_t>(leaving);
  }
  inner_->send(waiting.to, waiting.outgoing);
  waiting_pool_.give(&waiting);
}

void Paced::sent(std::uint64_t cookie, Status status) {
  auto* leaving = reinterpret_cast<Leaving*>(static_cast<std::uintptr_t>(cookie));
  const Time at = status.is_ok() ? leaving->gone : Time{};  // a failure is told at once
  reports_.add_sent(leaving->cookie, std::move(status), at);
  leaving_.give(leaving);
}

Placement Paced::place(Rank from, const Message& message) {
  reports_.make_room_for_received(placed_ + 1);
  Placement placement = client_->place(from, message);
  if (placement.kind == Placement::Kind::kHere) ++placed_;
  return placement;
}

void Paced::received(Rank from, const Message& message, Status status) {
  --placed_;
  if (!status.is_ok()) return client_->received(from, message, std::move(status));
  const Time now = Clock::now();
  ingress_free_ = std::max(ingress_free_, now) + link_.time_of(message.payload_bytes + kFrameHeaderBytes);
  reports_.add_received(from, message, std::move(status), ingress_free_ + link_.latency);
}

void Paced::failed(Rank peer, Status status) {
  failed_[static_cast<std::size_t>(peer)] = any_failed_ = true;
  client_->failed(peer, std::move(status));
}

bool Paced::progress() {
  bool moved = start_what_may_leave(Clock::now());
  moved = inner_->progress() || moved;
  if (settling_ && !inner_settling_ && waiting_.empty() && leaving_.in_use() == 0) {
    inner_settling_ = true;
    inner_->settle();
  }
  return report(Clock::now()) || moved;
}

Time Paced::next_event() const { return std::min(waiting_.empty() ? Time::max() : egress_free_, reports_.next()); }

void Paced::wait(Time deadline) {
  const Time until = std::min(deadline, next_event());
  if (until > Clock::now()) inner_->wait(until);
}

bool Paced::close(Time deadline) {
  while (!idle() && Clock::now() < deadline) {
    if (!progress()) wait(deadline);
  }
  closing_ = true;
  start_what_may_leave(Clock::now());
  const bool let_go = inner_->close(deadline);
  report(Time::max());
  return let_go;
}

}  // namespace

std::unique_ptr<Transport> make_paced(std::unique_ptr<Transport> inner, const Link& link, int ranks) {
  return std::make_unique<Paced>(std::move(inner), link, ranks);
}

}  // namespace casync::runtime
