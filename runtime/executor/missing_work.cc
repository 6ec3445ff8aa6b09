// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/missing_work.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "base/log.h"

namespace casync::runtime {

MissingWork::MissingWork(const ExecutorOptions& options, const Transport& transport, const RunTable& runs,
                         const Computing& computing, const AsynchronousRanks& asynchronous, const Waiters& waiters,
                         const WorkRecord& record, const ExecutorEvents& events)
    : options_(options),
      transport_(transport),
      runs_(runs),
      computing_(computing),
      asynchronous_(asynchronous),
      waiters_(waiters),
      record_(record),
      events_(events),
      stalls_(options.stall) {}

bool MissingWork::lacks_contribution(const GradientRun& run) const {
  if (!run.step.is_under_way()) return false;
  if (computing_.rounds() != nullptr) return true;
  if (const GradientRun& inner = run.under_way(); &inner != &run) return lacks_contribution(inner);
  if (run.asynchronous && (run.owner_side() || run.asynchronous->waits_behind())) return true;
  const std::span<const Arrivals::Arrival> all = run.arrivals.all();
  return std::any_of(all.begin(), all.end(),
                     [&](const Arrivals::Arrival& one) { return one.id().hop == 0 && !run.tasks.is_done(one.task()); });
}

std::string MissingWork::of(const GradientRun& run) const {
  if (!run.step.is_under_way()) return "nothing is missing any more";
  if (const DeviceRounds* const rounds = computing_.rounds(); rounds != nullptr) {
    return rounds->missing(run.related.instead() != nullptr ? *run.related.instead() : run);
  }
  if (run.seat.bundle() != nullptr && &run.under_way() == run.seat.bundle()) return of(*run.seat.bundle());
  const GradientRun& inner = run.under_way();
  if (run.related.instead() == &inner) return of(inner);
  if (!run.rounds) return of_tasks(run);
  const std::string turn = std::to_string(run.rounds->turn() + 1) + " of " + std::to_string(run.rounds->turns());
  return "turn " + turn + (&inner != &run ? " is done; then " + of(inner) : " is not computed");
}

std::string MissingWork::of_tasks(const GradientRun& run) const {
  constexpr std::size_t kLongest = 400;
  std::string text;
  int unsent = 0, uncomputed = 0;
  for (std::size_t i = 0; i < run.tasks.count(); ++i) {
    if (run.tasks.is_done(TaskId(static_cast<std::uint32_t>(i)))) continue;
    const Primitive& primitive = run.graph.tasks()[i];
    if (const Recv* recv = std::get_if<Recv>(&primitive)) {
      if (text.size() > kLongest) continue;
      text += (text.empty() ? "" : "; ") + std::string("nothing came from rank ") + std::to_string(recv->from) +
              " for partition " + std::to_string(recv->id.partition);
      if (!run.asynchronous) continue;
      const std::string waits = asynchronous_.waits().of(run, recv->from, recv->id.partition);
      if (!waits.empty()) text += ": " + waits;
    } else if (std::holds_alternative<Send>(primitive)) {
      ++unsent;
    } else {
      ++uncomputed;
    }
  }
  if (text.empty()) text = "all messages came";
  return text + "; " + std::to_string(unsent) + " messages not sent, " + std::to_string(uncomputed) +
         " tasks not computed";
}

void MissingWork::watch(Clock::time_point now) {
  const TransportStats stats = transport_.stats();
  const std::uint64_t moves = record_.counters().tasks.load() + stats.wire_bytes_sent + stats.wire_bytes_received -
                              asynchronous_.waits().word_bytes();
  if (const auto stalled = stalls_.look(now, moves, waiters_.active() == 0)) say_stall(*stalled);
}

/// Prefers a gradient that lacks a contribution.
void MissingWork::say_stall(Seconds stalled) const {
  const GradientRun* worst = nullptr;
  for (const std::unique_ptr<GradientRun>& run : runs_.gradients()) {
    if (!run->step.is_under_way()) continue;
    if (worst == nullptr || (!lacks_contribution(*worst) && lacks_contribution(*run))) worst = run.get();
  }
  const int active = waiters_.active();
  if (worst == nullptr) {
    log().warn("rank {}: nothing has moved for {:.1f} s: {} {} until every rank has declared {}", options_.rank,
               stalled.count(), active, active == 1 ? "gradient waits" : "gradients wait", active == 1 ? "it" : "them");
    return events_.stalled();
  }
  log().warn("rank {}: nothing has moved for {:.1f} s, with {} {} under way; gradient {}, step {}: {}", options_.rank,
             stalled.count(), active, active == 1 ? "gradient" : "gradients", worst->spec.name, worst->step.number(),
             of(*worst));
}

}  // namespace casync::runtime
