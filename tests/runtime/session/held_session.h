// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/control/group/group.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/executor.h"
#include "runtime/session/departure.h"
#include "runtime/session/openings.h"
#include "runtime/session/ready_events.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_states.h"
#include "runtime/session/step_starts.h"
#include "runtime/transport/loopback/factory.h"
#include "tests/runtime/session/gradients.h"

namespace casync::test {

/// A group that keeps what it is told, and answers what the test wants. Any thread.
class HeldGroup final : public Group {
 public:
  struct Goodbye {
    Clock::time_point deadline;
    std::string words, to_hub;
  };
  struct Told {
    std::vector<std::string> causes;  ///< of abort()
    std::vector<std::vector<std::string>> claims;
    std::vector<std::pair<std::vector<std::string>, std::uint32_t>> needs;
    std::vector<std::string> lacks, given_up, asked_about;
    std::vector<Goodbye> goodbyes;
  };

  std::uint64_t epoch() const override { return 1; }
  const std::string& host_of(Rank) const override { return host_; }
  int pid_of(Rank rank) const override { return 100 + rank; }
  int local_ranks() const override { return 1; }
  bool is_one_process() const override { return false; }
  Result<std::vector<std::string>> all_gather(const std::string&, const std::string&, Clock::time_point) override {
    return unavailable("a held group gathers nothing");
  }
  void claim(std::vector<Claim> claims) override {
    std::vector<std::string> names;
    for (const Claim& one : claims) names.push_back(one.name);
    note([&](Told& told) { told.claims.push_back(std::move(names)); });
  }
  Status agree(Claim, Clock::time_point) override { return Status::ok(); }
  void watch_agreements(std::function<void(const Agreement&)>) override {}
  void need(std::vector<std::string> names, std::uint32_t step) override {
    note([&](Told& told) { told.needs.emplace_back(std::move(names), step); });
  }
  void watch_needs(std::function<void(const std::string&, std::uint32_t)>) override {}
  void lack(const std::string& name) override {
    note([&](Told& told) { told.lacks.push_back(name); });
  }
  void give_up(const std::string& name) override {
    note([&](Told& told) { told.given_up.push_back(name); });
  }
  void ask_who_is_late(const std::string& name) override {
    note([&](Told& told) { told.asked_about.push_back(name); });
  }
  Bytes control_bytes() override { return 0; }
  void abort(const Status& cause) override {
    note([&](Told& told) { told.causes.push_back(cause.text()); });
  }
  void watch(std::function<void(const Status&)>) override {}
  void watch_leavers(std::function<void(Rank, const LastWords&)>) override {}
  Status failure() const override { return verdict; }
  Status close(Clock::time_point deadline, const LastWords& words) override {
    note([&](Told& told) { told.goodbyes.push_back({deadline, words.to_all, words.to_hub}); });
    return words.to_all.empty() ? Status::ok() : farewell;
  }
  using Group::close;

  Told told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }

  // Set ahead of the calls.
  Status verdict;   ///< of the job, once one rank has aborted it; OK: none has been heard of
  Status farewell;  ///< to a goodbye with words

 private:
  template <class Note>
  void note(Note note) {
    const std::lock_guard lock(mutex_);
    note(told_);
  }

  const std::string host_ = "node1";
  mutable std::mutex mutex_;
  Told told_;
};

/// The parts of a session that is alone with its executor, in the hands of a test, and with a HeldGroup.
struct HeldSession {
  explicit HeldSession(std::uint64_t epoch, Rank rank = 0, double timeout_s = 60, const Plan& plan = {})
      : parts(options_of(timeout_s), launch_of(rank), plan, make_host_device()) {
    parts.topology = Topology::flat(1);
    parts.dead = Seconds(5);
    TransportOptions transport;
    transport.epoch = epoch;
    parts.executor =
        std::make_unique<Executor>(ExecutorOptions{}, std::move(make_loopback(transport)).value(), *parts.device);
    auto made = std::make_unique<HeldGroup>();
    group = made.get();
    parts.group = std::move(made);
    const std::string address = parts.executor->address();
    ExecutorEvents events;
    events.peer_broke = [this](Rank peer, const Status& status) { job_end.peer_broke(peer, status); };
    events.failed = [this](const Status& cause) { job_end.end_here(cause); };
    events.peer_compares = [](std::uint64_t) {};
    if (!parts.executor->connect({&address, 1}, std::move(events))) throw std::runtime_error("not connected");
  }

  /// Stops the executor ahead of all else, as a session does: its thread's requests go to it through `parts`.
  ~HeldSession() {
    static_cast<void>(parts.executor->stop(after(Seconds(5)), after(Seconds(5))));
    parts.executor.reset();
  }

  /// Declares a gradient of three elements. `key`: 0 for its own.
  GradientId declare(const std::string& name, std::uint64_t key = 0) {
    Result<Declared> declared = declare_gradient(parts.plan, {name, DType::kFloat32, {3}, 0}, parts.topology);
    if (key != 0) declared->key = key;
    const std::lock_guard lock(tables.mutex);
    tables.submissions.add(declared->spec);
    return tables.gradients.add(std::move(*declared));
  }
  void claim() {
    const std::lock_guard lock(tables.mutex);
    openings.claim();
  }
  Handle submit(GradientId id) {
    const std::lock_guard lock(tables.mutex);
    const Submission one{id, view_of(values)};
    Handle handle{};
    starts.start({&one, 1}, {&handle, 1}, Clock::now());
    return handle;
  }

  SessionParts parts;
  HeldGroup* group = nullptr;  ///< that of `parts`
  std::vector<float> values = {1, 2, 3};
  SessionTables tables{parts.plan.mode, *parts.device};
  GoneRanks gone;
  JobEnd job_end{parts, gone};
  ReadyEvents ready{*parts.device};
  StepStarts starts{parts, tables, ready};
  SessionStates states{parts, tables};
  Openings openings{parts, tables, starts, states, job_end};
  Departure departure{parts, tables, gone, job_end};

 private:
  static SessionOptions options_of(double timeout_s) {
    SessionOptions options;
    options.timeout_s = timeout_s;
    return options;
  }
  static Launch launch_of(Rank rank) {
    Launch launch;
    launch.rank = rank;
    launch.ranks = 2;
    return launch;
  }
};

}  // namespace casync::test
