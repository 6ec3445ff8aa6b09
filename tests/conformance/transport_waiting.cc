// SPDX-License-Identifier: Apache-2.0
//
// Scenarios about waiting: sleeping, waking, and that a steady step asks for no memory.
#include <time.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/allocation_count.h"
#include "tests/conformance/transport_probe.h"

namespace casync::test {
namespace {

using runtime::Message;
using runtime::Placement;

double cpu_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void waking(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  // Warm: connections that are still being made end a wait, too.
  probe.send(1 - rig.rank, 0, 100);
  probe.until([&] { return probe.received_count() == 1 && probe.all_sent(); });
  probe.run_for(0.2);

  probe.transport().wake();
  Clock::time_point start = Clock::now();
  probe.transport().wait(after(Seconds(20)));
  rig.expect(Clock::now() - start < std::chrono::seconds(10), "an earlier wake() ends the next wait()");

  std::atomic<bool> woken = false;
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    woken = true;
    probe.transport().wake();
  });
  start = Clock::now();
  while (!woken) {  // a wait may end early
    if (!probe.transport().progress()) probe.transport().wait(after(Seconds(20)));
  }
  rig.expect(Clock::now() - start < std::chrono::seconds(10), "a wake() from another thread ends a wait()");
  waker.join();
  probe.meet();
  probe.transport().close(after(Seconds(5)));
}

void sleeping(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  probe.send(1 - rig.rank, 0, 100'000);
  probe.until([&] { return probe.received_count() == 1 && probe.all_sent(); });
  probe.run_for(0.2);
  const clockid_t clock = rig.own_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
  const double before = cpu_seconds(clock);
  probe.run_for(1);
  const double used = cpu_seconds(clock) - before;
  rig.expect(used < 0.02, "a second of waiting took " + std::to_string(used) + " s of CPU");
  probe.meet();
  probe.transport().close(after(Seconds(5)));
}

// A client that asks for no memory itself: two messages of fixed size each way per step, and one fused message.
class FrugalClient final : public runtime::TransportClient {
 public:
  static constexpr std::array<Bytes, 6> kSizes = {2_MiB + 3, 40'000, 10, 0, 300, 77};

  FrugalClient() {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      in_[i].resize(kSizes[i]);
      out_[i].resize(kSizes[i]);
    }
  }

  void step(runtime::Transport& transport, Rank to, std::uint32_t number) {
    number_ = number;
    received_ = sent_ = 0;
    transport.retry_held();  // the peer may be ahead of us
    std::array<runtime::Outgoing, kSizes.size()> outgoing;
    for (std::uint32_t i = 0; i < kSizes.size(); ++i) {
      outgoing[i].message.key = {.gradient = 1, .step = number, .partition = i, .hop = 0};
      outgoing[i].message.payload_bytes = kSizes[i];
      outgoing[i].payload = {out_[i].data(), kSizes[i]};
    }
    transport.send(to, {&outgoing[0], 1});
    transport.send(to, {&outgoing[1], 1});
    transport.send(to, {&outgoing[2], kSizes.size() - 2});
    const Clock::time_point deadline = after(Seconds(20));
    while ((received_ < kSizes.size() || sent_ < kSizes.size()) && Clock::now() < deadline) {
      if (!transport.progress()) transport.wait(deadline);
    }
  }
  bool complete() const { return received_ == kSizes.size() && sent_ == kSizes.size() && good_; }

 private:
  Placement place(Rank, const Message& message) override {
    if (message.key.step != number_) return Placement::later();
    std::vector<std::byte>& place = in_[message.key.partition];
    return Placement::here({place.data(), place.size()});
  }
  void received(Rank, const Message&, Status status) override {
    ++received_;
    good_ = good_ && status.is_ok();
  }
  void sent(std::uint64_t, Status status) override {
    ++sent_;
    good_ = good_ && status.is_ok();
  }
  void failed(Rank, Status) override { good_ = false; }

  std::array<std::vector<std::byte>, kSizes.size()> in_, out_;
  std::uint32_t number_ = 0;
  std::size_t received_ = 0, sent_ = 0;
  bool good_ = true;
};

void steady_steps(TransportRig& rig) {
  runtime::TransportOptions options;
  options.rank = rig.rank;
  options.ranks = rig.ranks;
  options.epoch = 0xF00D;
  auto transport = rig.open(options);
  const std::vector<std::string> addresses = rig.all_gather(transport ? (*transport)->address() : "");
  rig.expect(transport.is_ok(), "opens: " + transport.status().text());
  if (!transport) return;
  FrugalClient client;
  const Status connected = (*transport)->connect(addresses, client);
  rig.expect(connected.is_ok(), "connects: " + connected.text());

  // Pools grow to the most that is ever under way at once, which depends on the schedule: so a few windows of
  // steps may pass, but what a step allocates anew shows in all of them.
  bool complete = true;
  std::uint32_t number = 0;
  std::uint64_t before = 0, allocations = 1;
  for (int window = 0; window < 12 && allocations != 0; ++window) {
    before = allocations_of_this_thread();
    for (int i = 0; i < 20; ++i) {
      client.step(**transport, 1 - rig.rank, ++number);
      complete = complete && client.complete();
    }
    allocations = allocations_of_this_thread() - before;
    // Both ranks do as many windows.
    for (const std::string& theirs : all_gather_while_moving(rig, **transport, allocations == 0 ? "none" : "some")) {
      if (theirs != "none") allocations = std::max<std::uint64_t>(allocations, 1);
    }
  }
  rig.expect(complete, "each step ends well");
  rig.expect(allocations == 0, std::to_string(allocations) + " allocations in 20 steady steps");
  rig.expect((before > 0) == kAllocationsAreCounted, "the counter counts");
  all_gather_while_moving(rig, **transport, "");
  (*transport)->close(after(Seconds(5)));
}

constexpr TransportScenario kScenarios[] = {
    {"wake ends a wait", 2, waking},
    {"waiting costs no CPU", 2, sleeping},
    {"a steady step asks for no memory", 2, steady_steps},
};

}  // namespace

std::span<const TransportScenario> waiting_scenarios() { return kScenarios; }

}  // namespace casync::test
