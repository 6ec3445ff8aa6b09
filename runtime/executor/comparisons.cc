// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/comparisons.h"

#include <algorithm>
#include <string>

#include "runtime/executor/computing.h"
#include "runtime/executor/message_hops.h"

namespace casync::runtime {

Comparisons::Comparisons(const ExecutorOptions& options, Transport& transport, Requests& requests, const RunTable& runs,
                         const Computing& computing, const ExecutorEvents& events, Failures& failures)
    : options_(options),
      transport_(transport),
      requests_(requests),
      runs_(runs),
      computing_(computing),
      events_(events),
      failures_(failures) {}

void Comparisons::want(std::uint64_t number, std::uint32_t steps) {
  if (DeviceRounds* const rounds = computing_.rounds(); rounds != nullptr) {
    static_cast<void>(requests_.post([rounds] { rounds->forget_step(); }));
  }
  if (wanted_.exchange(number) >= number) return;
  // The first comparison needs no notice: no rank goes on without it.
  if (number > 1) static_cast<void>(requests_.post([this, number, steps] { send_notices(number, steps); }));
}

void Comparisons::end() { count_.fetch_add(1); }

void Comparisons::send_notices(std::uint64_t number, std::uint32_t steps) {
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    if (peer != options_.rank) send_word(transport_, peer, {.gradient = number, .step = steps, .hop = kNoticeHop});
  }
}

void Comparisons::take_notice(Rank from, const Message& message) {
  if (message.key.gradient <= count()) return;  // that one is over
  waiting_ = from;
  waiting_for_ = message.key.gradient;
  waiting_from_ = message.key.step;
  events_.peer_compares(waiting_for_);
  check();
}

void Comparisons::check() {
  if (waiting_ < 0) return;
  if (waiting_for_ <= count()) {
    waiting_ = -1;
    return;
  }
  const auto gradients = runs_.gradients();
  const bool needs_more = std::any_of(gradients.begin(), gradients.end(), [&](const auto& run) {
    return run->step.is_under_way() && run->step.number() >= waiting_from_;
  });
  if (!needs_more) return;
  failures_.report(invalid_argument("rank " + std::to_string(waiting_) + " has loaded a state, and rank " +
                                    std::to_string(options_.rank) +
                                    " waits for its part of a step: load a state on every rank, or on none"));
}

}  // namespace casync::runtime
