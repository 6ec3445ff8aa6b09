// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_rounds.h"

#include <algorithm>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "compll/codec/coded/coded_codec.h"

namespace casync::runtime {
namespace {

constexpr std::chrono::microseconds kRestPause{200};

bool is_all_reduced(const GradientRun& run) {
  if (run.decision.servers.dedicated) return false;  // some ranks contribute nothing
  return run.is_float32() && run.codec(Hop::kFirst).info().identity && run.codec(Hop::kSecond).info().identity;
}

/// Rounds know the sizes of all payloads ahead.
Status check_sizes(const GradientRun& run) {
  for (const Hop hop : {Hop::kFirst, Hop::kSecond}) {
    const compll::Codec& codec = run.codec(hop);
    if (!compll::size_varies(codec)) continue;
    return unimplemented(
        "codec `" + codec.info().name +
        "` has coded sections, whose sizes depend on the gradient, and rounds know theirs ahead: use " +
        "another codec, or another transport than nccl");
  }
  return Status::ok();
}

/// Everything that a device may still use which does not come to rest, or which has failed and may still ring.
struct KeptWork {
  std::shared_ptr<Bell> bell;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<RoundTransport> transport;
  std::shared_ptr<void> buckets;
};
void keep_for_ever(KeptWork work) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<KeptWork>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(work));
}

}  // namespace

DeviceRounds::DeviceRounds(Device& device, const Settings& settings, Transport& waker)
    : device_(device), settings_(settings), bell_(std::make_shared<Bell>(waker)), kernels_(device) {}

DeviceRounds::~DeviceRounds() { bell_->silence(); }

Status DeviceRounds::open(const Open& open) {
  Result<std::unique_ptr<Stream>> stream = device_.make_stream(false);
  if (!stream) return stream.status();
  Result<std::unique_ptr<Event>> rest = device_.make_event();
  if (!rest) return rest.status();
  Result<std::unique_ptr<RoundTransport>> transport = open(**stream);
  if (!transport) return transport.status();
  stream_ = std::move(*stream);
  rest_ = std::move(*rest);
  transport_ = std::move(*transport);
  return Status::ok();
}

Status DeviceRounds::take_in(std::span<GradientRun* const> runs) {
  std::vector<GradientRun*> gradients;  // without their warm-up, and what their codecs exchange
  std::set<std::uint32_t> ends{std::numeric_limits<std::uint32_t>::max()};
  for (GradientRun* run : runs) {
    run->move_to_device();
    Status status = check_sizes(*run);
    if (status.is_ok()) status = kernels_.take_in(*run);
    if (!status) {
      return Status(status.code(), "gradient " + run->spec.name + ": " + status.message());
    }
    run->related.for_each_end([&](std::uint32_t until) { ends.insert(until); });
    if (run->related.outer() == nullptr) gradients.push_back(run);
  }
  Intake intake;
  std::uint32_t from = 0;
  for (const std::uint32_t until : ends) {
    intake.push_back({until, {}});
    std::vector<GradientRun*> used;
    for (GradientRun* run : gradients) {
      GradientRun* const instead = run->related.warm_up_in(from);
      used.push_back(instead != nullptr ? instead : run);
    }
    CASYNC_RETURN_IF_ERROR(add_phase(used, intake));
    from = until;
  }
  intakes_.push_back(std::move(intake));
  if (step_) choose_order(*step_);  // the order so far stays as it is
  return Status::ok();
}

/// Schedules the gradients of the intake's last phase.
Status DeviceRounds::add_phase(std::span<GradientRun* const> runs, Intake& intake) {
  std::vector<RoundGradient> gradients;
  for (const GradientRun* run : runs) {
    gradients.push_back({&run->graph, run->spec.bytes(), is_all_reduced(*run) || run->rounds != nullptr});
  }
  Result<std::vector<Bucket>> schedule = make_rounds(gradients, settings_.bucket_bytes);
  if (!schedule) return schedule.status();
  const RoundTasks::Settings settings{settings_.seed, settings_.scale, kernels_};
  for (Bucket& bucket : *schedule) {
    const auto of_it = runs.subspan(bucket.first_gradient, bucket.gradients);
    auto made = std::make_unique<RoundBucket>(std::move(bucket), of_it, settings);
    CASYNC_RETURN_IF_ERROR(made->open(device_));
    intake.back().buckets.push_back(std::move(made));
  }
  return Status::ok();
}

/// Allocates only where another phase begins.
void DeviceRounds::choose_order(std::uint32_t step) {
  std::size_t at = 0;
  bool same = true;
  const auto visit = [&](auto take) {
    for (const Intake& intake : intakes_) {
      const auto phase = std::find_if(intake.begin(), intake.end(), [&](const Phase& one) { return step < one.until; });
      for (const std::unique_ptr<RoundBucket>& bucket : phase->buckets) take(bucket.get());
    }
  };
  visit([&](RoundBucket* bucket) { same = same && at < order_.size() && order_[at++] == bucket; });
  if (same && at == order_.size()) return;
  order_.clear();
  bucket_of_.clear();
  visit([&](RoundBucket* bucket) {
    for (const GradientRun* run : bucket->members().runs()) bucket_of_.emplace(run, order_.size());
    order_.push_back(bucket);
  });
  done_.reserve(bucket_of_.size());
}

Status DeviceRounds::begin(const GradientRun& run) {
  if (step_ != run.step.number()) {
    if (is_under_way() || part_ != 0) {
      return internal_error("gradient " + run.spec.name + ": step " + std::to_string(run.step.number()) +
                            " begins while rounds of the step before it are under way");
    }
    choose_order(run.step.number());
    for (RoundBucket* bucket : order_) bucket->members().reset();
    current_ = ended_ = 0;
    step_ = run.step.number();
  }
  order_[bucket_of_.at(&run)]->members().take(run);
  return Status::ok();
}

Result<bool> DeviceRounds::progress() {
  bool moved = false;
  if (is_under_way() || can_queue()) {
    const Result<bool> queued = transport_->poll();
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
    RoundBucket& bucket = *order_[current_];
    CASYNC_RETURN_IF_ERROR(bucket.issue(part_, *stream_, *transport_));
    starting_ = bucket.calls_transport(part_);
    *moved = true;
    if (++part_ < bucket.parts()) continue;
    part_ = 0;
    ++current_;
    CASYNC_RETURN_IF_ERROR(ring());
  }
  return Status::ok();
}

Status DeviceRounds::ring() {
  CASYNC_RETURN_IF_ERROR(stream_->call(Bell::ring, bell_.get()));
  bell_->asked();
  return Status::ok();
}

Status DeviceRounds::look_for_ended(bool* moved) {
  while (ended_ < current_) {
    const Result<bool> over = order_[ended_]->is_over();
    if (!over) return over.status();
    if (!*over) return Status::ok();
    for (GradientRun* run : order_[ended_]->members().runs()) done_.push_back(run);
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
  const std::size_t at = bucket_of_.at(&run);
  for (std::size_t b = current_; b <= at; ++b) {
    const GradientRun* const first = order_[b]->members().first_missing();
    if (first == nullptr) continue;
    return "gradient " + first->spec.name +
           ", which was declared earlier or travels with it, was not submitted here: " + "over " +
           transport_->description() + " all ranks exchange gradients in one order";
  }
  return "its rounds are queued, and some rank has not come to them: a gradient was not submitted there";
}

TransportStats DeviceRounds::stats() const {
  TransportStats all;
  for (const Intake& intake : intakes_) {
    for (const Phase& phase : intake) {
      for (const std::unique_ptr<RoundBucket>& bucket : phase.buckets) {
        const RoundExchanges::Traffic& traffic = bucket->exchanges().traffic();
        all.messages_sent += traffic.messages_sent;
        all.messages_received += traffic.messages_received;
        all.payload_bytes_sent += traffic.bytes_sent;
        all.payload_bytes_received += traffic.bytes_received;
      }
    }
  }
  all.wire_bytes_sent = all.payload_bytes_sent;
  all.wire_bytes_received = all.payload_bytes_received;
  return all;
}

void DeviceRounds::close(Clock::time_point deadline) {
  const Status status = transport_->close(deadline);
  if (!status) log().info("closing: {}", status.message());
  while (!bell_->is_at_rest() && Clock::now() < deadline) std::this_thread::sleep_for(kRestPause);
  silence();
}

void DeviceRounds::silence() {
  bell_->silence();
  if (!bell_->is_at_rest()) keep_for_ever({bell_, nullptr, nullptr, {}});
}

bool DeviceRounds::come_to_rest(Clock::time_point deadline) {
  transport_->abort();
  bool at_rest = transport_->wait_for_abort(deadline);
  // A device that has failed does nothing more.
  const bool fails = at_rest && !stream_->record(*rest_);
  while (at_rest && !fails) {
    const Result<bool> over = rest_->done();
    if (!over || *over) break;
    at_rest = Clock::now() < deadline;
    std::this_thread::sleep_for(kRestPause);
  }
  silence();
  if (at_rest) return true;
  log().error("{}: rounds have not ended: their memory is kept until the process ends", device_.name());
  keep_for_ever(
      {bell_, std::move(stream_), std::move(transport_), std::make_shared<std::vector<Intake>>(std::move(intakes_))});
  return false;
}

}  // namespace casync::runtime
