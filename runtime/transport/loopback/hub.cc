// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/loopback/hub.h"

#include <bit>
#include <utility>

namespace casync::runtime {

std::vector<std::byte> ParcelPool::take(Bytes size) {
  const unsigned power = static_cast<unsigned>(std::bit_width(std::bit_ceil(size)));
  std::vector<std::byte> bytes;
  {
    std::lock_guard lock(mutex_);
    auto& free = free_[power];
    if (!free.empty()) {
      bytes = std::move(free.back());
      free.pop_back();
    }
  }
  bytes.reserve(std::bit_ceil(size));
  bytes.resize(size);
  return bytes;
}

void ParcelPool::give(std::vector<std::byte> bytes) {
  if (bytes.capacity() == 0) return;
  const unsigned power = static_cast<unsigned>(std::bit_width(bytes.capacity()));
  std::lock_guard lock(mutex_);
  free_[power].push_back(std::move(bytes));
}

void Mailbox::put(Parcel parcel) {
  {
    std::lock_guard lock(mutex_);
    parcels_.push_back(std::move(parcel));
  }
  bell_.ring();
}

void Mailbox::take_all(std::vector<Parcel>& out) {
  std::lock_guard lock(mutex_);
  out.swap(parcels_);
}

std::shared_ptr<LoopbackHub> LoopbackHub::of(std::uint64_t epoch) {
  static std::mutex mutex;
  static std::map<std::uint64_t, std::weak_ptr<LoopbackHub>> hubs;
  std::lock_guard lock(mutex);
  std::erase_if(hubs, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<LoopbackHub> hub = hubs[epoch].lock();
  if (!hub) hubs[epoch] = hub = std::make_shared<LoopbackHub>();
  return hub;
}

bool LoopbackHub::enter(Rank rank) {
  std::lock_guard lock(mutex_);
  return std::exchange(present_[rank], true) == false;
}

void LoopbackHub::leave(Rank rank, bool said_goodbye) {
  std::lock_guard lock(mutex_);
  present_[rank] = false;
  if (said_goodbye) return;
  for (auto& [other, mailbox] : mailboxes_) {
    if (other != rank) mailbox->put({.bytes = {}, .from = rank, .sender_gone = true, .last = true});
  }
}

Mailbox& LoopbackHub::mailbox(Rank rank) {
  std::lock_guard lock(mutex_);
  auto& mailbox = mailboxes_[rank];
  if (!mailbox) mailbox = std::make_unique<Mailbox>();
  return *mailbox;
}

}  // namespace casync::runtime
