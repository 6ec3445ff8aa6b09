// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_rounds.h"

#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace casync::runtime {
namespace {

constexpr std::chrono::microseconds kRestPause{200};

bool is_all_reduced(const GradientRun& run) {
  return run.codec(Hop::kFirst).info().identity && run.codec(Hop::kSecond).info().identity;
}

/// Everything that a device may still use which does not come to rest, or which has failed and may still ring.
struct KeptWork {
  std::shared_ptr<Bell> bell;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<RoundTransport> transport;
  std::vector<std::unique_ptr<RoundBucket>> buckets;
};
void keep_for_ever(KeptWork work) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<KeptWork>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(work));
}

}  // namespace

DeviceRounds::DeviceRounds(Device& device, const Settings& settings, Transport& waker)
    : device_(device), settings_(settings), bell_(std::make_shared<Bell>(waker)) {}

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
  std::vector<RoundGradient> gradients;
  for (GradientRun* run : runs) {
    run->move_to_device();
    if (Status status = find_kernels(*run); !status) {
      return Status(status.code(), "gradient " + run->spec.name + ": " + status.message());
    }
    gradients.push_back({&run->graph, run->spec.bytes(), is_all_reduced(*run)});
  }
  Result<std::vector<Bucket>> schedule = make_rounds(gradients, settings_.bucket_bytes);
  if (!schedule) return schedule.status();
  const RoundBucket::Settings settings{
      settings_.seed, settings_.scale,
      [this](const compll::Codec& codec) -> CodecKernels& { return *by_codec_.at(&codec); }};
  for (Bucket& bucket : *schedule) {
    const auto of_it = runs.subspan(bucket.first_gradient, bucket.gradients);
    auto made = std::make_unique<RoundBucket>(std::move(bucket), of_it, settings);
    CASYNC_RETURN_IF_ERROR(made->open(device_));
    for (const GradientRun* run : of_it) bucket_of_.emplace(run, buckets_.size());
    buckets_.push_back(std::move(made));
  }
  done_.reserve(bucket_of_.size());
  return Status::ok();
}

Status DeviceRounds::find_kernels(const GradientRun& run) {
  const HopCodecs& codecs = *run.used_codecs;
  CASYNC_RETURN_IF_ERROR(find_kernels(run.decision.codec.name, *codecs.first));
  return find_kernels(run.decision.second_hop.name, *codecs.second);
}

/// Codecs of one name and with the same parameters share theirs.
Status DeviceRounds::find_kernels(const std::string& name, const compll::Codec& codec) {
  std::string text = name;
  for (const double value : codec.info().values) text += " " + std::to_string(value);
  std::unique_ptr<CodecKernels>& known = kernels_[text];
  if (known == nullptr) {
    Result<std::unique_ptr<CodecKernels>> made = device_.kernels(name, codec);
    if (!made) return made.status();
    known = std::move(*made);
  }
  by_codec_[&codec] = known.get();
  return Status::ok();
}

Status DeviceRounds::begin(const GradientRun& run) {
  if (step_ != run.step) {
    if (is_under_way() || part_ != 0) {
      return internal_error("gradient " + run.spec.name + ": step " + std::to_string(run.step) +
                            " begins while rounds of the step before it are under way");
    }
    for (const std::unique_ptr<RoundBucket>& bucket : buckets_) bucket->reset();
    current_ = ended_ = 0;
    step_ = run.step;
  }
  buckets_[bucket_of_.at(&run)]->take(run);
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
    RoundBucket& bucket = *buckets_[current_];
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
    const Result<bool> over = buckets_[ended_]->is_over();
    if (!over) return over.status();
    if (!*over) return Status::ok();
    for (GradientRun* run : buckets_[ended_]->runs()) done_.push_back(run);
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
    const GradientRun* const first = buckets_[b]->first_missing();
    if (first == nullptr) continue;
    return "gradient " + first->spec.name +
           ", which was declared earlier or travels with it, was not submitted here: " + "over " +
           transport_->description() + " all ranks exchange gradients in one order";
  }
  return "its rounds are queued, and some rank has not come to them: a gradient was not submitted there";
}

TransportStats DeviceRounds::stats() const {
  TransportStats all;
  for (const std::unique_ptr<RoundBucket>& bucket : buckets_) {
    all.messages_sent += bucket->messages_sent();
    all.messages_received += bucket->messages_received();
    all.payload_bytes_sent += bucket->bytes_sent();
    all.payload_bytes_received += bucket->bytes_received();
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
  keep_for_ever({bell_, std::move(stream_), std::move(transport_), std::move(buckets_)});
  return false;
}

}  // namespace casync::runtime
