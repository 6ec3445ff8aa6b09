// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_stream.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/log.h"
#include "runtime/executor/keep_for_ever.h"

namespace casync::runtime {

RoundStream::RoundStream(Device& device, Transport& waker) : device_(device), bell_(std::make_shared<Bell>(waker)) {}

RoundStream::~RoundStream() { bell_->silence(); }

Status RoundStream::open(const Open& open) {
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

Status RoundStream::ring() {
  CASYNC_RETURN_IF_ERROR(stream_->call(Bell::ring, bell_.get()));
  bell_->asked();
  return Status::ok();
}

void RoundStream::close(Clock::time_point deadline) {
  const Status status = transport_->close(deadline);
  if (!status) log().info("closing: {}", status.message());
  while (!bell_->is_at_rest() && Clock::now() < deadline) std::this_thread::sleep_for(kRestPause);
  silence();
}

void RoundStream::silence() {
  if (!bell_->silence()) keep_for_ever(bell_);
}

bool RoundStream::come_to_rest(Clock::time_point deadline) {
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
  keep_for_ever(stream_);
  keep_for_ever(transport_);
  return false;
}

}  // namespace casync::runtime
