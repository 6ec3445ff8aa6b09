// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/thread.h"
#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

constexpr Seconds kFlushTime{0.2};

}  // namespace

Status GroupThread::start(std::unique_ptr<Role> role, RoleEvents& events, Seconds beat) {
  role_ = std::move(role);
  after_collapse_ = std::make_unique<IdleRole>();
  events_ = &events;
  beat_ = std::chrono::duration_cast<Clock::duration>(beat);
  wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return unavailable("cannot make an event descriptor: " + error_text(errno));
  CASYNC_RETURN_IF_ERROR(set_.open());
  Result<std::thread> thread = start_thread("casync-group", [this] { run(); });
  if (!thread) return thread.status();
  thread_ = std::move(*thread);
  return Status::ok();
}

void GroupThread::post(std::function<void(Role&)> request) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;
  requests_.push_back(std::move(request));
  eventfd_write(wake_.get(), 1);
}

void GroupThread::stop(Clock::time_point latest) {
  const std::lock_guard one(stop_mutex_);
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    latest_ = latest;
    eventfd_write(wake_.get(), 1);
  }
  thread_.join();
  std::vector<std::function<void(Role&)>> dropped;
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  dropped.swap(requests_);
}

void GroupThread::run() noexcept {
  id_ = std::this_thread::get_id();
  for (bool ended = false; !ended;) {
    try {
      serve();
      ended = true;
    } catch (const std::exception& error) {
      collapse(error.what());
    } catch (...) {
      collapse("an exception");
    }
  }
}

/// The role may be half-way through anything: it tells the others if it still can, and is not used again.
void GroupThread::collapse(const char* what) noexcept {
  const auto attempt = [](auto step) {
    try {
      step();
    } catch (...) {  // no memory to say more
    }
  };
  Status cause(StatusCode::kInternal, {});
  attempt([&] { cause = internal_error(std::string("the group's thread failed: ") + what); });
  attempt([&] { role_->abort(cause); });
  if (after_collapse_) role_ = std::move(after_collapse_);
  attempt([&] { events_->failed(cause); });
}

void GroupThread::serve() {
  awake_ = Clock::now();
  const Watch requests = set_.watch(wake_.get(), [this] {
    eventfd_t count = 0;
    eventfd_read(wake_.get(), &count);
  });
  role_->attach(set_);
  while (run_requests()) go_around(Clock::time_point::max());
  const Clock::time_point latest = std::max(after(kFlushTime), latest_);
  while (role_->has_output() && Clock::now() < latest) go_around(latest);
  // A socket that is closed with unread bytes, such as a beat, drops those that have not reached its peer.
  role_->hang_up();
  while (role_->has_children() && Clock::now() < latest) go_around(latest);
  role_.reset();  // closes the connections on the thread that owns them
}

bool GroupThread::run_requests() {
  std::vector<std::function<void(Role&)>> requests;
  bool stopping = false;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(requests_);
    stopping = stopping_;
  }
  for (const auto& request : requests) request(*role_);
  return !stopping;
}

void GroupThread::go_around(Clock::time_point latest) {
  notice_stall(awake_);
  const Clock::time_point due = std::min(role_->tend(awake_), latest);
  set_.sleep(due);
  notice_stall(due);
  set_.run_handlers();  // a stop in here is noticed the next time around
}

/// Running on past `expected` means that this process was stopped, or its machine. What the others said meanwhile has
/// not been read yet: their silence is ours.
void GroupThread::notice_stall(Clock::time_point expected) {
  const Clock::time_point now = Clock::now();
  if (now - expected > beat_) role_->forgive(now - expected);
  awake_ = now;
}

}  // namespace casync::runtime
