// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/transport/transport.h"

namespace casync::test {

/// A transport that carries nothing and has nothing to report: the base of those that keep what a test looks at.
class IdleTransport : public runtime::Transport {
 public:
  std::string address() const override { return ""; }
  Status connect(std::span<const std::string>, runtime::TransportClient&) override { return Status::ok(); }
  void send(Rank, std::span<const runtime::Outgoing>) override {}
  void retry_held() override {}
  void retry_held(std::uint64_t) override {}
  bool progress() override { return false; }
  void wait(Clock::time_point) override {}
  void wake() override {}
  void settle() override {}
  bool settled() const override { return true; }
  bool close(Clock::time_point) override { return true; }
  runtime::TransportStats stats() const override { return {}; }
  Bytes announced_bytes(Rank) const override { return 0; }
  std::string description() const override { return "idle"; }
};

}  // namespace casync::test
