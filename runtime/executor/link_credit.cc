// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/link_credit.h"

#include <algorithm>

namespace casync::runtime {
namespace {

int node_of(const Topology& topology, Rank rank) {
  return topology.node_of.empty() ? 0 : topology.node_of[static_cast<std::size_t>(rank)];
}

}  // namespace

std::size_t LinkCredit::WaitingHash::operator()(const Waiting& waiting) const {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15u;
  const MessageKey& key = waiting.message;  // the gradient is a hash already
  const std::uint64_t place = std::uint64_t{key.partition} << 32 | key.hop;
  const std::uint64_t time = std::uint64_t{key.step} << 32 | static_cast<std::uint32_t>(waiting.from);
  return static_cast<std::size_t>(((key.gradient ^ place * kMix) ^ time) * kMix);
}

LinkCredit::LinkCredit(Bytes credit, const Topology& topology, Rank rank)
    : credit_(credit), ports_of_(static_cast<std::size_t>(topology.ranks)), waiting_(&pool_) {
  for (Rank peer = 0; peer < topology.ranks; ++peer) {
    const bool is_near = node_of(topology, peer) == node_of(topology, rank);
    ports_of_[static_cast<std::size_t>(peer)] = is_near ? 0 : 1;
  }
}

void LinkCredit::handed_over(Rank to, const MessageKey& message, Bytes bytes) {
  Port& port = ports_[port_of(to)];
  port.messages.push_back({to, message, bytes});
  port.bytes += bytes;
}

void LinkCredit::arrived(Rank at, const MessageKey& message) {
  Port& port = ports_[port_of(at)];
  // Words come nearly in the order of their messages.
  const auto found = std::find_if(port.messages.begin(), port.messages.end(),
                                  [&](const UnderWay& one) { return one.to == at && one.message == message; });
  if (found == port.messages.end()) return;
  port.bytes -= found->bytes;
  port.messages.erase(found);
}

void LinkCredit::put_off(Rank from, const MessageKey& message) {
  if (waiting_.insert({from, message}).second) words_.push_back({from, message});
}

void LinkCredit::received(Rank from, const MessageKey& message) {
  if (waiting_.erase({from, message}) == 0) words_.push_back({from, message});
}

}  // namespace casync::runtime
