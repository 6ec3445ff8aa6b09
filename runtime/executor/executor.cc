// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/executor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "runtime/executor/progress_loop.h"
#include "runtime/executor/progress_parts.h"

namespace casync::runtime {
namespace {

// Interval at which a destructor that waits for tasks looks again.
constexpr Seconds kRestTime{60};

// Time for which the progress thread may be busy until it says who has not confirmed.
constexpr Seconds kNamingTime{0.5};

std::string unconfirmed(const std::vector<Rank>& peers) {
  const std::string who = peers.empty() ? "the other ranks have"
                                        : fmt::format("{} {} {}", peers.size() == 1 ? "rank" : "ranks",
                                                      fmt::join(peers, ", "), peers.size() == 1 ? "has" : "have");
  return who + " not confirmed that everything has arrived";
}

}  // namespace

Executor::Executor(const ExecutorOptions& options, std::unique_ptr<Transport> transport, Device& device)
    : options_(options),
      transport_(std::move(transport)),
      requests_(*transport_, waiters_),
      failures_(requests_, waiters_, events_),
      record_(options.timeline),
      parts_(std::make_unique<ProgressParts>(options_, *transport_, device, requests_, waiters_, failures_, record_,
                                             events_)),
      loop_(std::make_unique<ProgressLoop>(*transport_, requests_, waiters_, failures_, record_, *parts_)),
      waits_(waiters_, requests_, parts_->missing) {}

Executor::~Executor() {
  const Clock::time_point now = Clock::now();
  while (!stop(now, after(kRestTime))) {
  }
}

Status Executor::open_rounds(Bytes bucket_bytes, const DeviceRounds::Open& open) {
  return parts_->computing.open_rounds(bucket_bytes, open);
}

void Executor::set_credit(Bytes bytes, const Topology& topology) { parts_->links.set_credit(bytes, topology); }

Status Executor::connect(std::span<const std::string> addresses, ExecutorEvents events) {
  events_ = std::move(events);
  CASYNC_RETURN_IF_ERROR(parts_->computing.open());
  CASYNC_RETURN_IF_ERROR(transport_->connect(addresses, parts_->messages));
  description_ = transport_->description();
  if (const DeviceRounds* const rounds = parts_->computing.rounds(); rounds != nullptr) {
    description_ = rounds->description() + ", beside " + description_;
  }
  return loop_->start();
}

Status Executor::take_in(std::vector<std::unique_ptr<GradientRun>> runs) { return loop_->take_in(std::move(runs)); }

void Executor::call(std::function<void()> call) {
  static_cast<void>(requests_.post([this, call = std::move(call)] {
    if (!failures_.failing()) call();
  }));
}

Comparisons& Executor::comparisons() { return parts_->comparisons; }

void Executor::peer_left(Leaver leaver) {
  static_cast<void>(requests_.post([this, leaver = std::move(leaver)] { parts_->left.add(leaver); }));
}

Status Executor::settle(Clock::time_point deadline) {
  if (!requests_.post([this] { loop_->begin_settling(); })) return failures_.failure();
  const auto stall = std::chrono::duration_cast<Clock::duration>(options_.stall);
  for (Clock::time_point next = Clock::now() + stall;; next += 2 * stall) {
    const auto over = waiters_.wait_until([&] { return waiters_.is_settled(); }, std::min(next, deadline));
    if (over) return *over;
    const auto who = requests_.ask<std::string>([this] { return unconfirmed(transport_->unsettled()); }, kNamingTime);
    const std::string text = who.value_or(unconfirmed({}));
    if (next >= deadline) return timeout_error(text);
    log().warn("rank {}: closing: {}", options_.rank, text);
  }
}

Status Executor::serve_others(std::uint32_t steps, Seconds patience) {
  if (!requests_.post([this, steps] { parts_->asynchronous.end_own(steps); })) return failures_.failure();
  while (true) {
    const std::uint64_t seen = parts_->asynchronous.waits().others_went_on();
    const auto over = waiters_.wait_until([this] { return parts_->asynchronous.ended().are_all(); }, after(patience));
    if (over) return *over;
    if (parts_->asynchronous.waits().others_went_on() != seen) continue;
    const auto late = requests_.ask<std::string>([this] { return parts_->asynchronous.ended().others(); }, patience);
    return timeout_error(fmt::format("no rank has gone on for {} s after this rank had ended its steps, and {} not",
                                     patience.count(), late.value_or("other ranks have")));
  }
}

bool Executor::stop(Clock::time_point deadline, Clock::time_point patience) {
  if (!loop_->stop(deadline, patience)) return false;
  parts_->computing.close();
  return true;
}

double Executor::processor_seconds() const {
  return loop_->processor_seconds() + parts_->computing.processor_seconds();
}

}  // namespace casync::runtime
