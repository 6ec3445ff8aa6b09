// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_rounds.h"

#include <utility>

namespace casync::runtime {

Status DeviceRounds::take_in(std::span<GradientRun* const> runs) {
  CASYNC_RETURN_IF_ERROR(order_.take_in(runs));
  if (step_) choose_order(*step_);  // the order so far stays as it is
  return Status::ok();
}

void DeviceRounds::choose_order(std::uint32_t step) {
  order_.choose(step);
  done_.reserve(order_.gradients());
}

Status DeviceRounds::begin(const GradientRun& run) {
  if (step_ != run.step.number()) {
    if (is_under_way() || part_ != 0) {
      return internal_error("gradient " + run.spec.name + ": step " + std::to_string(run.step.number()) +
                            " begins while rounds of the previous step are under way");
    }
    choose_order(run.step.number());
    for (std::size_t i = 0; i < order_.size(); ++i) order_.at(i).members().reset();
    current_ = ended_ = 0;
    step_ = run.step.number();
  }
  order_.at(order_.place_of(run)).members().take(run);
  return Status::ok();
}

Result<bool> DeviceRounds::progress() {
  bool moved = false;
  if (is_under_way() || can_queue()) {
    const Result<bool> queued = stream_.transport().poll();
    if (!queued) return queued.status();
    if (starting_ && !*queued) return false;
    moved = std::exchange(starting_, false);
  }
  CASYNC_RETURN_IF_ERROR(queue_some(&moved));
  CASYNC_RETURN_IF_ERROR(look_for_ended(&moved));
  return moved;
}

/// Queues parts up to the next call of the transport.
Status DeviceRounds::queue_some(bool* moved) {
  while (!starting_ && can_queue()) {
    RoundBucket& bucket = order_.at(current_);
    CASYNC_RETURN_IF_ERROR(bucket.issue(part_, stream_.stream(), stream_.transport()));
    starting_ = bucket.calls_transport(part_);
    *moved = true;
    if (++part_ < bucket.parts()) continue;
    part_ = 0;
    ++current_;
    CASYNC_RETURN_IF_ERROR(stream_.ring());
  }
  return Status::ok();
}

Status DeviceRounds::look_for_ended(bool* moved) {
  while (ended_ < current_) {
    RoundBucket& bucket = order_.at(ended_);
    const Result<bool> over = bucket.is_over();
    if (!over) return over.status();
    if (!*over) return Status::ok();
    for (GradientRun* run : bucket.members().runs()) done_.push_back(run);
    ++ended_;
    *moved = true;
  }
  return Status::ok();
}

GradientRun* DeviceRounds::take_done() {
  if (done_.empty()) return nullptr;
  GradientRun* const run = done_.back();
  done_.pop_back();
  return run;
}

std::string DeviceRounds::missing(const GradientRun& run) const {
  const std::size_t at = order_.place_of(run);
  for (std::size_t b = current_; b <= at; ++b) {
    const GradientRun* const first = order_.at(b).members().first_missing();
    if (first == nullptr) continue;
    return "gradient " + first->spec.name +
           ", which was declared earlier or travels with it, was not submitted here: " + "over " + description() +
           " all ranks exchange gradients in one order";
  }
  return "its rounds are queued, and some rank has not come to them: a gradient was not submitted there";
}

TransportStats DeviceRounds::stats() const {
  const RoundExchanges::Traffic traffic = order_.traffic();
  TransportStats all;
  all.messages_sent = traffic.messages_sent;
  all.messages_received = traffic.messages_received;
  all.payload_bytes_sent = all.wire_bytes_sent = traffic.bytes_sent;
  all.payload_bytes_received = all.wire_bytes_received = traffic.bytes_received;
  return all;
}

bool DeviceRounds::come_to_rest(Clock::time_point deadline) {
  if (stream_.come_to_rest(deadline)) return true;
  order_.keep_memory();
  return false;
}

}  // namespace casync::runtime
