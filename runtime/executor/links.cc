// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/links.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace casync::runtime {

Links::Links(const ExecutorOptions& options, Transport& transport, Handover::MakeOutgoing outgoing)
    : options_(options),
      transport_(transport),
      sends_(options.ranks),
      handover_(options.ranks, options.fusion_bytes, transport, sends_, std::move(outgoing)) {
  if (options.coordinated) coordinated_ = std::make_unique<CoordinatedSends>(options, transport, sends_, handover_);
}

void Links::set_credit(Bytes bytes, const Topology& topology) {
  CASYNC_CHECK(coordinated_ == nullptr && bytes > 0);
  credit_ = std::make_unique<CreditSends>(bytes, topology, options_.rank, transport_, sends_, handover_);
}

bool Links::flush() {
  if (coordinated_ != nullptr) return coordinated_->flush();
  const bool any = credit_ != nullptr && credit_->send_words();
  if (sends_.listed().empty()) return any;
  const Clock::time_point now = Clock::now();
  if (credit_ != nullptr) return credit_->flush(now) || any;
  return flush_by_pace(now);
}

bool Links::flush_by_pace(Clock::time_point now) {
  bool any = false;
  sends_.keep_listed([&](Rank peer) {
    bool empty = sends_.is_empty(peer);
    while (!empty && handover_.is_open(peer, now)) {
      handover_.hand_over(peer, now);
      any = true;
      empty = sends_.is_empty(peer);
    }
    return !empty;
  });
  return any;
}

void Links::sent(Rank to, Bytes bytes) {
  handover_.sent(to, bytes, Clock::now());
  if (coordinated_ != nullptr) coordinated_->sent(to);
}

Clock::time_point Links::due() const {
  if (coordinated_ != nullptr) return coordinated_->due();
  Clock::time_point due = Clock::time_point::max();
  if (credit_ != nullptr) return due;  // word of an arrival wakes the transport
  for (const Rank peer : sends_.listed()) due = std::min(due, handover_.opens_at(peer));
  return due;
}

void Links::take_coordination(Rank from, const Message& message) {
  if (coordinated_ != nullptr) coordinated_->take(from, message);
}

void Links::put_off(Rank from, const MessageKey& message) {
  if (credit_ != nullptr) credit_->credit().put_off(from, message);
}

void Links::received(Rank from, const MessageKey& message) {
  if (credit_ != nullptr) credit_->credit().received(from, message);
}

void Links::arrived(Rank at, const MessageKey& message) {
  if (credit_ != nullptr) credit_->credit().arrived(at, message);
}

}  // namespace casync::runtime
