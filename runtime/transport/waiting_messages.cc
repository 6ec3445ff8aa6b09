// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/waiting_messages.h"

#include <utility>

#include <fmt/core.h>

namespace casync::runtime {
namespace {

// A peer with more than this put off here is hostile. A step of a large job has thousands of messages from one rank to
// another; ranks are at most two steps apart.
constexpr std::size_t kMaxWaitingPieces = 1 << 20;
constexpr std::size_t kMaxHeldPieces = 1 << 10;  // of one message

}  // namespace

void WaitingMessages::add(InboxRecord& record) {
  WaitingEntry& entry = record.waiting_entry();
  if (entry.listed_) return;
  InboxRecord*& first = of_gradient_[record.message().key.gradient];
  entry.listed_ = true;
  entry.next_ = first;
  if (first != nullptr) first->waiting_entry().previous_ = &record;
  first = &record;
}

void WaitingMessages::remove(InboxRecord& record) {
  WaitingEntry& entry = record.waiting_entry();
  if (!std::exchange(entry.listed_, false)) return;
  if (entry.next_ != nullptr) entry.next_->waiting_entry().previous_ = entry.previous_;
  if (entry.previous_ != nullptr) {
    entry.previous_->waiting_entry().next_ = entry.next_;
  } else if (entry.next_ != nullptr) {
    of_gradient_[record.message().key.gradient] = entry.next_;
  } else {
    of_gradient_.erase(record.message().key.gradient);
  }
  entry.next_ = entry.previous_ = nullptr;
}

void WaitingMessages::add_list(InboxRecord* first, std::vector<InboxRecord*>& to) {
  for (InboxRecord* record = first; record != nullptr; record = record->waiting_entry().next_) to.push_back(record);
}

void WaitingMessages::add_all(std::vector<InboxRecord*>& to) const {
  for (const auto& [gradient, first] : of_gradient_) add_list(first, to);
}

void WaitingMessages::add_of(std::uint64_t gradient, std::vector<InboxRecord*>& to) const {
  const auto found = of_gradient_.find(gradient);
  if (found != of_gradient_.end()) add_list(found->second, to);
}

Status WaitingMessages::hold(InboxRecord& record, const FrameHeader& header, HeldPiece piece) {
  std::size_t& pieces = pieces_of(record);
  if (pieces >= kMaxWaitingPieces || record.held().size() >= kMaxHeldPieces) {
    return data_loss(
        fmt::format("rank {} has sent {} pieces of messages that nobody here waits for", record.from(), pieces));
  }
  record.hold(header, piece);
  ++pieces;
  return Status::ok();
}

std::pmr::vector<InboxRecord::Held> WaitingMessages::take_held(InboxRecord& record) {
  pieces_of(record) -= record.held().size();
  return record.take_held();
}

}  // namespace casync::runtime
