// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/device_sampler.h"

#include <thread>
#include <utility>

#include "base/clock.h"
#include "casync/patterns/sampled.h"
#include "runtime/session/copy_waits.h"

namespace casync::runtime {

DeviceSampler::~DeviceSampler() {
  const Clock::time_point deadline = after(kLongestCopy);
  while (true) {
    take_over();
    if (under_way_ == 0 || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kCopyPause);
  }
  for (Gradient& each : gradients_) {
    if (each.is_under_way) static_cast<void>(each.sample.release());
  }
}

Status DeviceSampler::open() {
  Result<std::unique_ptr<Stream>> stream = device_.make_stream(false);
  if (!stream) return stream.status();
  Result<std::unique_ptr<Event>> written = device_.make_event();
  if (!written) return written.status();
  stream_ = std::move(*stream);
  written_ = std::move(*written);
  return Status::ok();
}

Status DeviceSampler::declare(const GradientSpec& gradient) {
  if (stream_ == nullptr) CASYNC_RETURN_IF_ERROR(open());
  const Bytes bytes = sampled_elements(gradient.elements()) * bytes_of(gradient.dtype);
  Result<std::unique_ptr<DeviceBuffer>> sample = device_.allocate(bytes, Memory::kPinned);
  if (!sample) return sample.status();
  Result<std::unique_ptr<Event>> copied = device_.make_event();
  if (!copied) return copied.status();
  gradients_.push_back({gradient, std::move(*sample), std::move(*copied)});
  return Status::ok();
}

Result<void*> DeviceSampler::submitted(std::size_t gradient, const Submission& submission, std::uint32_t step) {
  Gradient& own = gradients_[gradient];
  if (!sampler_.is_due(gradient) || own.spec.elements() == 0) return submission.stream;
  take_over(gradient);
  if (own.is_under_way) return submission.stream;
  CASYNC_RETURN_IF_ERROR(device_.record(*written_, submission.stream));
  CASYNC_RETURN_IF_ERROR(stream_->wait_for(*written_));
  const Bytes width = bytes_of(own.spec.dtype);
  Status copied;
  for_each_sampled(own.spec.elements(), [&](Elements first, Elements count, Elements at) {
    if (!copied) return;
    copied = stream_->download(submission.device_data.slice(first * width, count * width),
                               own.sample->view().slice(at * width, count * width));
  });
  CASYNC_RETURN_IF_ERROR(copied);
  CASYNC_RETURN_IF_ERROR(stream_->record(*own.copied));
  own.is_under_way = true;
  own.step = step;
  ++under_way_;
  return stream_->native();
}

void DeviceSampler::take_over() {
  for (std::size_t i = 0; under_way_ > 0 && i < gradients_.size(); ++i) take_over(i);
}

void DeviceSampler::take_over(std::size_t gradient) {
  Gradient& own = gradients_[gradient];
  if (!own.is_under_way) return;
  const Result<bool> done = own.copied->done();
  if (done && !*done) return;
  if (done) sampler_.take(gradient, own.spec, own.sample->view(), own.step);
  own.is_under_way = false;
  --under_way_;
}

}  // namespace casync::runtime
