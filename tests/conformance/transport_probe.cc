// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/transport_probe.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace casync::test {

using runtime::Message;
using runtime::MessageKey;
using runtime::Placement;

namespace {

constexpr std::byte kGuardByte{0xA5};
constexpr std::uint64_t kGradient = 0xfeedface12345678;

/// Calls use(first byte, bytes, the word that has them) for each eight bytes of a payload, and for those left over.
template <class Use>
void for_each_word(Rank from, const MessageKey& key, Bytes size, const Use& use) {
  for (Bytes at = 0; at < size; at += 8) {
    const std::uint64_t word =
        (at / 8 + 1) * 0x9e3779b97f4a7c15ull + key.partition * 31 + key.step * 17 + static_cast<std::uint64_t>(from);
    use(at, std::min<Bytes>(sizeof word, size - at), word);
  }
}

}  // namespace

bool ReceivedMessage::guards_are_whole() const {
  const auto whole = [](std::byte b) { return b == kGuardByte; };
  return std::all_of(memory.begin(), memory.begin() + kGuard, whole) &&
         std::all_of(memory.end() - kGuard, memory.end(), whole);
}

bool ReceivedMessage::holds_the_pattern(Rank from) const {
  bool holds = true;
  for_each_word(from, message.key, size, [&](Bytes at, Bytes count, std::uint64_t word) {
    holds = holds && std::memcmp(memory.data() + kGuard + at, &word, count) == 0;
  });
  return holds;
}

std::vector<std::string> all_gather_while_moving(TransportRig& rig, runtime::Transport& transport,
                                                 const std::string& blob) {
  std::vector<std::string> blobs;
  std::atomic<bool> met = false;
  std::thread waiter([&] {
    blobs = rig.all_gather(blob);
    met = true;
    transport.wake();
  });
  while (!met) {
    if (!transport.progress()) transport.wait(after(Seconds(1)));
  }
  waiter.join();
  return blobs;
}

TransportProbe::TransportProbe(TransportRig& rig, runtime::TransportOptions options) : rig_(rig) {
  answer = [this](Rank from, const Message& message) { return place_in_memory(from, message); };
  options.rank = rig.rank;
  options.ranks = rig.ranks;
  if (options.epoch == 0) options.epoch = 0xE90C;
  auto opened = rig.open(options);
  const std::vector<std::string> addresses = rig.all_gather(opened ? (*opened)->address() : "");
  rig.expect(opened.is_ok(), "opens: " + opened.status().text());
  if (!opened) return;
  transport_ = std::move(*opened);
  rig.expect(addresses[static_cast<std::size_t>(rig.rank)].size() <= 4_KiB, "the address has at most 4 KiB");
  const Status connected = transport_->connect(addresses, *this);
  rig.expect(connected.is_ok(), "connects: " + connected.text());
}

SentMessage& TransportProbe::make(Rank, std::uint32_t partition, Bytes bytes, std::uint32_t step) {
  sent_.push_back(std::make_unique<SentMessage>());
  SentMessage& message = *sent_.back();
  message.outgoing.message.key = {.gradient = kGradient, .step = step, .partition = partition, .hop = 1};
  message.outgoing.message.codec = 3;
  message.outgoing.message.finite = partition % 2 == 0;
  message.outgoing.message.elements = bytes * 2 + 1;
  message.outgoing.message.payload_bytes = bytes;
  message.payload.resize(bytes);
  for_each_word(rig_.rank, message.outgoing.message.key, bytes, [&](Bytes at, Bytes count, std::uint64_t word) {
    std::memcpy(message.payload.data() + at, &word, count);
  });
  message.outgoing.payload = {message.payload.data(), bytes};
  message.outgoing.cookie = sent_.size() - 1;
  message.outgoing.unasked = unasked_;
  return message;
}

SentMessage& TransportProbe::send(Rank to, std::uint32_t partition, Bytes bytes, std::uint32_t step) {
  SentMessage& message = make(to, partition, bytes, step);
  send_together(to, {&message});
  return message;
}

void TransportProbe::send_together(Rank to, const std::vector<SentMessage*>& messages) {
  std::vector<runtime::Outgoing> outgoing;
  for (const SentMessage* message : messages) outgoing.push_back(message->outgoing);
  unsent_ += outgoing.size();
  transport_->send(to, outgoing);
}

bool TransportProbe::until(const std::function<bool()>& done, double seconds) {
  const Clock::time_point deadline = after(Seconds(seconds));
  while (!done()) {
    if (transport_->progress()) continue;
    if (Clock::now() >= deadline) return false;
    transport_->wait(deadline);
  }
  return true;
}

void TransportProbe::run_for(double seconds) {
  until([] { return false; }, seconds);
}

Placement TransportProbe::place_in_memory(Rank from, const Message& message) {
  ReceivedMessage& received = received_[{from, message.key.step, message.key.partition}];
  if (!received.memory.empty()) return Placement::refuse(data_loss("the same message twice"));
  received.memory.assign(message.payload_bytes + 2 * ReceivedMessage::kGuard, kGuardByte);
  received.size = message.payload_bytes;
  ++incomplete_;
  return Placement::here({received.begin(), received.size});
}

Placement TransportProbe::place(Rank from, const Message& message) {
  ++asked_;
  return answer(from, message);
}

void TransportProbe::received(Rank from, const Message& message, Status status) {
  ReceivedMessage& received = received_[{from, message.key.step, message.key.partition}];
  if (received.completions++ == 0) --incomplete_;
  received.status = std::move(status);
  received.message = message;
}

void TransportProbe::sent(std::uint64_t cookie, Status status) {
  SentMessage& message = *sent_.at(cookie);
  if (message.completions++ == 0) --unsent_;
  message.status = std::move(status);
}

void TransportProbe::check_everything() {
  for (auto& [key, received] : received_) {
    const auto& [from, step, partition] = key;
    const std::string name = "message " + std::to_string(partition) + " of step " + std::to_string(step) + " from " +
                             std::to_string(from) + " (" + std::to_string(received.size) + " bytes) ";
    rig_.expect(received.completions == 1, name + "is received once");
    rig_.expect(received.status.is_ok(), name + "is received well: " + received.status.text());
    rig_.expect(received.guards_are_whole(), name + "stays inside its memory");
    rig_.expect(received.holds_the_pattern(from), name + "has the bytes that were sent");
    rig_.expect(received.message.codec == 3 && received.message.finite == (partition % 2 == 0) &&
                    received.message.elements == received.size * 2 + 1 && received.message.key.hop == 1 &&
                    received.message.key.gradient == kGradient,
                name + "has the fields that were sent");
  }
  for (const auto& message : sent_) {
    rig_.expect(message->completions == 1 && message->status.is_ok(),
                "message " + std::to_string(message->outgoing.message.key.partition) +
                    " is sent once: " + std::to_string(message->completions) + " times, " + message->status.text());
  }
  for (const auto& [peer, failures] : failed_) {
    for (const Status& failure : failures) {
      rig_.expect(false, "rank " + std::to_string(peer) + " is not called failed: " + failure.text());
    }
  }
}

}  // namespace casync::test
