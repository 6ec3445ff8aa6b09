// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/session/session.h"

namespace casync::test {

/// A session of one rank that does nothing: a test overrides what matters to it. Handles count from 1.
class LoneSession : public runtime::Session {
 public:
  using Session::submit;

  Rank rank() const override { return 0; }
  int ranks() const override { return 1; }
  const Topology& topology() const override { return topology_; }
  Exchanged exchanged() const override { return Exchanged::kGradients; }
  Status begin_consensus() override { return Status::ok(); }
  void end_submissions() override {}
  Result<runtime::GradientId> declare(const GradientSpec&) override { return runtime::GradientId(declared_++); }
  Status submit(std::span<const runtime::Submission> submissions, std::span<runtime::Handle> handles) override {
    for (std::size_t i = 0; i < submissions.size(); ++i) handles[i] = runtime::Handle(++handles_);
    return Status::ok();
  }
  Status wait(runtime::Handle, double, runtime::Waiter) override { return Status::ok(); }
  bool done(runtime::Handle) const override { return false; }
  Status wait_any(std::span<const runtime::Handle>, Clock::time_point, const std::atomic<bool>&,
                  std::vector<runtime::Handle>*) override {
    return Status::ok();
  }
  void nudge() override {}
  Status note_exposed(runtime::Handle, double) override { return Status::ok(); }
  Status failure() const override { return Status::ok(); }
  Result<runtime::StepResult> step() override { return runtime::StepResult{}; }
  runtime::SessionStats stats() const override { return {}; }
  Result<runtime::SessionState> state() const override { return runtime::SessionState{}; }
  Status load_state(const runtime::SessionState&) override { return Status::ok(); }
  void abort(const std::string&) override {}
  Status close() override { return Status::ok(); }

 private:
  Topology topology_;
  std::uint32_t declared_ = 0;
  std::uint64_t handles_ = 0;
};

/// The elements of a submission on the host.
inline std::vector<float> values_of(const runtime::Submission& submission) {
  const auto* const first = reinterpret_cast<const float*>(submission.data.data);
  return {first, first + submission.data.size / sizeof(float)};
}

}  // namespace casync::test
