// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/waiting_bundles.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace casync::runtime {

WaitingBundles::Waiting& WaitingBundles::add(Rank from, const Message& message) {
  if (spare_.empty()) spare_.push_back(std::make_unique<Waiting>());
  Waiting& waiting = *waiting_.emplace_back(std::move(spare_.back()));
  spare_.pop_back();
  waiting.from = from;
  waiting.message = message;
  waiting.arrived = waiting.in_arena = false;
  return waiting;
}

Bytes& WaitingBundles::bytes_of(Rank from) {
  const auto at = static_cast<std::size_t>(from);
  if (at >= bytes_.size()) bytes_.resize(at + 1);
  return bytes_[at];
}

Placement WaitingBundles::expect(Rank from, const Message& message) {
  if (bytes_of(from) + size_of(message) > most_) {
    return Placement::refuse(data_loss("it sent bundles of more than " + std::to_string(most_) +
                                       " bytes together, and no gradient in them has begun here"));
  }
  Waiting& waiting = add(from, message);
  waiting.bytes.resize(message.payload_bytes);
  waiting.view = {waiting.bytes.data(), waiting.bytes.size()};
  bytes_of(from) += size_of(message);
  return Placement::here(waiting.view);
}

void WaitingBundles::keep(Rank from, const Message& message, View memory, bool arrived) {
  Waiting& waiting = add(from, message);
  waiting.view = memory;
  waiting.in_arena = true;
  if (arrived) open(waiting);
}

/// Splits a bundle that has arrived.
void WaitingBundles::open(Waiting& waiting) {
  waiting.arrived = true;
  waiting.entries = read_bundle(waiting.view);
  waiting.left = waiting.entries.size();
  waiting.done.assign(waiting.entries.size(), false);
  if (!waiting.entries.empty()) return;
  failures_.report(data_loss("message from rank " + std::to_string(waiting.from) + " (step " +
                             std::to_string(waiting.message.key.step) + "): not a bundle of gradients"));
}

bool WaitingBundles::received(Rank from, const Message& message) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const std::unique_ptr<Waiting>& one) {
    return one->from == from && !one->arrived && one->message.key == message.key;
  });
  if (found == waiting_.end()) return false;
  Waiting& waiting = **found;
  open(waiting);
  if (!waiting.entries.empty()) hand_out(waiting);
  return true;
}

void WaitingBundles::hand_out(Waiting& waiting) {
  const GradientRun* const bundle = runs_.find(waiting.message.key.gradient);
  if (bundle != nullptr && bundle->step.is_under_way(waiting.message.key.step)) {
    hand_over(waiting, waiting.message, waiting.view);
    std::fill(waiting.done.begin(), waiting.done.end(), true);
    waiting.left = 0;
  }
  for (std::size_t i = 0; i < waiting.entries.size(); ++i) {
    if (!waiting.done[i] && hand_out(waiting, i)) {
      waiting.done[i] = true;
      --waiting.left;
    }
  }
  if (waiting.left != 0) return;
  const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const std::unique_ptr<Waiting>& one) { return one.get() == &waiting; });
  if (waiting.in_arena) {
    arena_.give_back(waiting.view);
  } else {
    bytes_of(waiting.from) -= size_of(waiting.message);
  }
  spare_.push_back(std::move(*at));
  waiting_.erase(at);
}

/// Gives one part to its gradient, as if it had come alone. Returns false if that has not begun.
bool WaitingBundles::hand_out(Waiting& waiting, std::size_t at) {
  const BundleEntry& entry = waiting.entries[at];
  const GradientRun* const run = runs_.find(entry.key);
  if (run == nullptr || run->parts) return false;
  const ConstView bytes(waiting.view);
  Message part = waiting.message;
  part.key.gradient = entry.key;
  part.key.partition = 0;
  part.elements = run->elements;
  part.payload_bytes = entry.bytes;
  part.finite = bundle_part_is_finite(bytes, waiting.entries.size(), at);
  return hand_over(waiting, part, bytes.slice(entry.offset, entry.bytes));
}

/// Takes `message` as if it came from the network. Returns false if it has to wait.
bool WaitingBundles::hand_over(const Waiting& waiting, const Message& message, ConstView payload) {
  const Rank from = waiting.from;
  const Placement placement = messages_.place(from, message);
  if (placement.kind == Placement::Kind::kLater) return false;
  if (placement.kind == Placement::Kind::kRefuse) {
    failures_.report(data_loss("rank " + std::to_string(from) + ": " + placement.reason.message()));
    return true;
  }
  if (payload.size != 0) std::memcpy(placement.view.data, payload.data, payload.size);
  messages_.received(from, message, Status::ok());
  return true;
}

/// Hands out those that pass the test. Each that has been handed out leaves the list.
template <class Test>
void WaitingBundles::hand_out_if(Test test) {
  for (std::size_t i = 0; i < waiting_.size();) {
    Waiting& waiting = *waiting_[i];
    const std::size_t before = waiting_.size();
    if (waiting.arrived && test(waiting)) hand_out(waiting);
    if (waiting_.size() == before) ++i;
  }
}

void WaitingBundles::hand_out_bundle(std::uint64_t key) {
  hand_out_if([&](const Waiting& waiting) { return waiting.message.key.gradient == key; });
}

void WaitingBundles::hand_out_to(const GradientRun& run) {
  hand_out_if([&](const Waiting& waiting) {
    return waiting.message.key.step == run.step.number() &&
           std::any_of(waiting.entries.begin(), waiting.entries.end(),
                       [&](const BundleEntry& entry) { return entry.key == run.key; });
  });
}

}  // namespace casync::runtime
