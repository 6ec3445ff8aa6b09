// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/handover.h"
#include "runtime/executor/ready_sends.h"
#include "tests/runtime/executor/one_rank.h"
#include "tests/support/idle_transport.h"

namespace casync::test {

/// A transport that keeps what is sent, each call in a list of its own.
class KeptMessages final : public IdleTransport {
 public:
  struct Sent {
    Rank to = 0;
    std::vector<runtime::Outgoing> outgoing;
  };
  void send(Rank to, std::span<const runtime::Outgoing> outgoing) override {
    sent.push_back({to, {outgoing.begin(), outgoing.end()}});
  }

  /// The calls since the last question.
  std::vector<Sent> take() { return std::exchange(sent, {}); }

  std::vector<Sent> sent;
};

/// Sends that wait, and a transport that keeps what leaves. The cookie of a message is its number.
struct WaitingSends {
  explicit WaitingSends(int ranks, Bytes fusion_bytes = 0)
      : sends(ranks), handover(ranks, fusion_bytes, transport, sends, [this](const runtime::ReadyTask& ready) {
          runtime::Outgoing out;
          out.message.key.partition = static_cast<std::uint32_t>(ready.arrival);
          out.payload = {nullptr, bytes[ready.arrival]};
          out.cookie = ready.arrival;
          return out;
        }) {}
  /// A send of so many bytes; returns its number. The smaller its priority, the sooner it leaves.
  std::uint64_t add(Rank to, Bytes size, int priority = 0) {
    bytes.push_back(size);
    const std::uint64_t number = bytes.size() - 1;
    sends.push(to, {run.get(), TaskId{0}, priority, 0, number});
    return number;
  }
  /// The numbers of all messages since the last question, with no regard to which travelled together.
  std::vector<std::uint64_t> left() {
    std::vector<std::uint64_t> numbers;
    for (const KeptMessages::Sent& one : transport.take()) {
      for (const runtime::Outgoing& out : one.outgoing) numbers.push_back(out.cookie);
    }
    return numbers;
  }

  std::unique_ptr<runtime::GradientRun> run = make_weight("weight", 2, 0);
  std::vector<Bytes> bytes;  ///< by number
  KeptMessages transport;
  runtime::ReadySends sends;
  runtime::Handover handover;
};

}  // namespace casync::test
