// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <cctype>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/allocation_count.h"
#include "runtime/transport/loopback/factory.h"
#include "runtime/transport/transport.h"

namespace casync::test {

/// A test's changes to a rank's transport, and its counters. Empty functions do nothing, null pointers count nothing.
struct Tampering {
  /// Runs in each progress(), on the progress thread, ahead of the transport's own; may call the client or throw.
  std::function<void(runtime::TransportClient&)> in_progress = nullptr;
  /// Sees each message ahead of its sending, and may change it.
  std::function<void(runtime::Message&, std::vector<std::byte>&)> on_message = nullptr;
  /// Calls that come after close(): there may be none.
  std::atomic<int>* late_calls = nullptr;
  /// Counts allocations of the progress thread and the streams outside of loopback, whose pools grow with how far one
  /// rank is ahead of another.
  std::atomic<std::uint64_t>* allocations = nullptr;
  /// close() says that the network may still write to memory.
  bool holds_memory = false;
  /// close() throws once the inner one has closed.
  bool throws_in_close = false;
};

/// Loopback with something between it and the executor.
class WrappedTransport final : public runtime::Transport, private runtime::TransportClient {
 public:
  WrappedTransport(std::unique_ptr<runtime::Transport> inner, Tampering tampering)
      : inner_(std::move(inner)), tampering_(std::move(tampering)) {}

  std::string address() const override { return inner_->address(); }
  Status connect(std::span<const std::string> addresses, runtime::TransportClient& client) override {
    client_ = &client;
    return inner_->connect(addresses, *this);
  }
  void send(Rank to, std::span<const runtime::Outgoing> outgoing) override {
    const Inside inside(*this);
    if (!tampering_.on_message) return inner_->send(to, outgoing);
    for (runtime::Outgoing one : outgoing) {  // loopback copies what it sends
      std::vector<std::byte> payload(one.payload.data, one.payload.data + one.payload.size);
      tampering_.on_message(one.message, payload);
      one.payload = {payload.data(), payload.size()};
      inner_->send(to, {&one, 1});
    }
  }
  void retry_held() override {
    const Inside inside(*this);
    inner_->retry_held();
  }
  void retry_held(std::uint64_t gradient) override {
    const Inside inside(*this);
    inner_->retry_held(gradient);
  }
  bool progress() override {
    const Inside inside(*this);
    if (tampering_.in_progress) tampering_.in_progress(*client_);
    return inner_->progress();
  }
  void wait(Clock::time_point deadline) override {
    const Inside inside(*this);
    inner_->wait(deadline);
  }
  void wake() override {
    note_late();
    static thread_local bool known = false;
    const bool stream = on_stream();
    if (stream && std::exchange(known, true)) end_own();  // its start is not a step
    inner_->wake();
    if (stream) begin_own();
  }
  void settle() override { inner_->settle(); }
  bool settled() const override { return inner_->settled(); }
  std::vector<Rank> unsettled() const override { return inner_->unsettled(); }
  bool close(Clock::time_point deadline) override {
    note_late();
    const bool let_go = inner_->close(deadline);
    closed_ = true;
    if (tampering_.throws_in_close) throw std::runtime_error("the network fell over");
    return let_go && !tampering_.holds_memory;
  }
  runtime::TransportStats stats() const override {
    note_late();
    return inner_->stats();
  }
  Bytes announced_bytes(Rank to) const override { return inner_->announced_bytes(to); }
  std::string description() const override {
    note_late();
    return inner_->description();
  }

 private:
  struct Inside {
    explicit Inside(WrappedTransport& transport) : self(transport) {
      self.note_late();
      self.end_own();
    }
    ~Inside() { self.begin_own(); }
    WrappedTransport& self;
  };
  struct Outside {
    explicit Outside(WrappedTransport& transport) : self(transport) { self.begin_own(); }
    ~Outside() { self.end_own(); }
    WrappedTransport& self;
  };

  runtime::Placement place(Rank from, const runtime::Message& message) override {
    const Outside outside(*this);
    return client_->place(from, message);
  }
  void received(Rank from, const runtime::Message& message, Status status) override {
    const Outside outside(*this);
    client_->received(from, message, std::move(status));
  }
  void sent(std::uint64_t cookie, Status status) override {
    const Outside outside(*this);
    client_->sent(cookie, std::move(status));
  }
  void failed(Rank peer, Status status) override { client_->failed(peer, std::move(status)); }

  void note_late() const {
    if (closed_ && tampering_.late_calls != nullptr) ++*tampering_.late_calls;
  }
  static bool on_stream() {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return std::string_view(name).starts_with("casync-") && std::isdigit(static_cast<unsigned char>(name[7])) != 0;
  }
  void begin_own() { mark_ = allocations_of_this_thread(); }
  void end_own() {
    if (tampering_.allocations != nullptr) *tampering_.allocations += allocations_of_this_thread() - mark_;
  }

  std::unique_ptr<runtime::Transport> inner_;
  Tampering tampering_;
  runtime::TransportClient* client_ = nullptr;
  std::atomic<bool> closed_ = false;
  static inline thread_local std::uint64_t mark_ = 0;  // allocations of this thread when it last left loopback
};

/// For SessionOptions::open_transport.
inline auto open_wrapped(Tampering tampering) {
  return [=](const runtime::TransportOptions& options) -> Result<std::unique_ptr<runtime::Transport>> {
    Result<std::unique_ptr<runtime::Transport>> inner = runtime::make_loopback(options);
    if (!inner) return inner.status();
    return std::unique_ptr<runtime::Transport>(std::make_unique<WrappedTransport>(std::move(*inner), tampering));
  };
}

}  // namespace casync::test
