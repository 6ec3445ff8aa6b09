// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/poll_set.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

constexpr std::size_t kMostReady = 128;  // what is left over is ready in the next sleep

}  // namespace

Watch::Watch(Watch&& other) noexcept
    : set_(std::exchange(other.set_, nullptr)), fd_(other.fd_), id_(other.id_), output_(other.output_) {}

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this == &other) return *this;
  reset();
  set_ = std::exchange(other.set_, nullptr);
  fd_ = other.fd_;
  id_ = other.id_;
  output_ = other.output_;
  return *this;
}

void Watch::reset() {
  if (set_ == nullptr) return;
  set_->handlers_.erase(id_);
  epoll_ctl(set_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
  set_ = nullptr;
}

void Watch::want_output(bool wanted) {
  if (set_ == nullptr || wanted == output_) return;
  set_->control(EPOLL_CTL_MOD, fd_, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, id_);
  output_ = wanted;
}

Status PollSet::open() {
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return unavailable("cannot make an event descriptor: " + error_text(errno));
  ready_.reserve(kMostReady);
  return Status::ok();
}

Watch PollSet::watch(int fd, Handler handler) {
  const std::uint64_t id = ++last_id_;
  control(EPOLL_CTL_ADD, fd, EPOLLIN, id);
  Watch watch(*this, fd, id);
  handlers_.emplace(id, std::make_shared<Handler>(std::move(handler)));
  return watch;
}

void PollSet::control(int operation, int fd, std::uint32_t events, std::uint64_t id) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

void PollSet::sleep(Clock::time_point deadline) {
  ready_.resize(kMostReady);
  const int count = epoll_wait(epoll_.get(), ready_.data(), static_cast<int>(kMostReady), poll_timeout(deadline));
  ready_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
}

void PollSet::run_handlers() {
  for (const epoll_event& event : ready_) {
    const auto found = handlers_.find(event.data.u64);
    if (found == handlers_.end()) continue;  // an earlier handler has ended it
    const std::shared_ptr<Handler> handler = found->second;
    (*handler)();
  }
}

}  // namespace casync::runtime
