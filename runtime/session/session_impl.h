// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/control/group.h"
#include "runtime/device/device.h"
#include "runtime/executor/executor.h"
#include "runtime/session/agreement.h"
#include "runtime/session/declarations.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Session over Group and Executor. Opening is in session_open.cc, state and reports in session_state.cc.
class SessionImpl final : public Session {
 public:
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);
  ~SessionImpl() override;

  Rank rank() const override { return launch_.rank; }
  int ranks() const override { return launch_.ranks; }
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Result<std::vector<Handle>> submit(std::span<const Submission> submissions) override;
  Status wait(Handle handle, double timeout_s) override;
  bool done(Handle handle) const override;
  Result<StepResult> step() override;
  SessionStats stats() const override;
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;

 private:
  SessionImpl(const SessionOptions& options, Launch launch, Plan plan);
  Status join(Store* store);
  Status connect();
  std::string interface_name() const;
  Facts settings() const;
  std::string named(Rank peer) const;
  void peer_broke(Rank peer, const Status& status);
  void peer_left(Rank peer);
  bool note_gone(const Status& why);
  Status check_peers() const;
  Status seal();
  Status check(std::span<const Submission> submissions) const;
  Status end_with(Status cause);
  StepResult commit();
  Status load_one(const std::string& name, const GradientState& state);
  void write_trace() const;
  Clock::time_point deadline() const { return after(Seconds(options_.timeout_s)); }

  const SessionOptions options_;
  const Launch launch_;
  const Plan plan_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;  // before group_: the group's callbacks use it until the group is gone
  std::unique_ptr<Group> group_;

  std::mutex seal_mutex_;           ///< one at a time compares declarations
  mutable std::mutex mutex_;        ///< what follows
  std::vector<Declared> declared_;  ///< by GradientId
  std::map<std::string, GradientId> ids_;
  std::vector<GradientRun*> runs_;                      ///< by GradientId; the executor owns them; shorter until seal()
  std::vector<std::uint32_t> submitted_;                ///< by GradientId: 1 + the step of its last submission
  std::map<std::string, GradientState> waiting_state_;  ///< loaded before its gradient was sealed
  std::uint32_t step_ = 0;
  Clock::time_point step_begun_;
  Status gone_;  ///< why the first rank to go can no longer take part
  std::atomic<std::uint64_t> first_step_allocations_{0};
  bool closed_ = false;
};

}  // namespace casync::runtime
