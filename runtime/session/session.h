// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/view.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/control/launch.h"
#include "runtime/control/store.h"

namespace casync::runtime {

enum class ReduceOp : std::uint8_t { kAverage, kSum };

struct SessionOptions {
  LaunchArguments launch;
  StoreFunctions store;              ///< both set: used instead of launch's rendezvous
  std::string plan_file;             ///< "" : CASYNC_PLAN, else no plan
  std::optional<CodecChoice> codec;  ///< instead of a plan: this for every gradient
  std::string transport = "ucx";     ///< CASYNC_TRANSPORT when this is ""
  ReduceOp op = ReduceOp::kAverage;
  double timeout_s = 300;       ///< of every wait
  std::string trace_directory;  ///< "": no timeline
};

/// What all ranks learn alike at the end of a step.
struct StepResult {
  std::uint32_t step = 0;
  bool finite = true;            ///< false: some rank's gradient was NaN or infinite; no residual has changed
  std::string first_non_finite;  ///< the first such gradient by name
};

enum class GradientId : std::uint32_t {};
/// One submission. Valid until the step after the next begins.
enum class Handle : std::uint64_t {};

struct Submission {
  GradientId gradient;
  View data;  ///< the gradient's elements, contiguous: reduced in place
};

struct SessionStats {
  std::uint32_t steps = 0;
  std::uint64_t messages_sent = 0, messages_received = 0;
  Bytes payload_bytes_sent = 0, payload_bytes_received = 0, wire_bytes_sent = 0, wire_bytes_received = 0;
  std::uint64_t allocations = 0;  ///< by this library's own threads since the end of the first step
  double encode_s = 0, decode_s = 0, merge_s = 0, send_s = 0, recv_s = 0;  ///< summed over tasks
  double idle_s = 0;                                                       ///< the progress thread asleep
  std::uint64_t tasks = 0;
  std::string transport;  ///< the transport's description
};

/// One gradient's memory between steps, to be saved with the model.
struct GradientState {
  std::string codec;            ///< what the residual belongs to: names and parameters
  std::vector<float> residual;  ///< as many as the gradient has elements; empty without feedback
};
struct SessionState {
  std::uint32_t step = 0;
  int ranks = 0;
  Rank rank = 0;
  std::map<std::string, GradientState> gradients;  ///< by gradient name
};

/// The one class a framework talks to: gradients go in as each rank has them and come back reduced, the same
/// bytes on every rank.
///
/// Threads: any thread may call anything; one thread at a time per call of step(), declare() and load_state().
/// Errors:  the first failure is final and the same on all ranks; every later call returns it at once.
class Session {
 public:
  virtual ~Session() = default;  ///< as close()

  /// Finds the other ranks, compares versions and plans, connects. Collective. Errors as Group::join,
  /// make_transport, read_plan_file; InvalidArgument: both a plan and a codec, ranks with different plans.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);

  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;

  /// Makes a gradient known; on every rank, before the step that uses it, in any order.
  /// InvalidArgument: a name declared differently before, an unknown codec or parameter. PlanError: a decision
  /// that cannot be carried out. The same specification again gives the same id.
  virtual Result<GradientId> declare(const GradientSpec& gradient) = 0;

  /// Starts reducing, in place. Any order, any thread. The memory is the session's until the handle is done.
  /// The first submit after a declare() compares the declarations of all ranks and waits for them.
  /// InvalidArgument: unknown id, wrong size, submitted twice in one step; nothing of this call was started.
  virtual Result<std::vector<Handle>> submit(std::span<const Submission> submissions) = 0;

  /// Waits until the gradient holds the result. Timeout: not by then (what was missing; the session lives on
  /// unless its own timeout_s passed too).
  virtual Status wait(Handle handle, double timeout_s) = 0;
  virtual bool done(Handle handle) const = 0;

  /// Ends the step: waits for all submitted, then commits residuals (or, not finite, keeps the old).
  virtual Result<StepResult> step() = 0;

  virtual SessionStats stats() const = 0;

  /// Residuals and counters as of the last committed step. Not while a step is under way (InvalidArgument).
  virtual Result<SessionState> state() const = 0;
  /// InvalidArgument: names the gradient and what differs (size, codec, ranks).
  virtual Status load_state(const SessionState& state) = 0;

  /// Ends the job on all ranks with this reason.
  virtual void abort(const std::string& reason) = 0;

  /// Says goodbye; waits a little for the others. Nothing but the destructor may follow.
  virtual Status close() = 0;
};

}  // namespace casync::runtime
