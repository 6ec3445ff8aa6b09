// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
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
#include "casync/model/topology.h"
#include "runtime/control/launch.h"
#include "runtime/control/store.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

enum class ReduceOp : std::uint8_t { kAverage, kSum };

struct SessionOptions {
  LaunchArguments launch;
  StoreFunctions store;              ///< both set: used instead of launch's rendezvous
  std::string plan_file;             ///< "": no plan
  std::optional<CodecChoice> codec;  ///< instead of a plan: this for every gradient
  std::string transport = "ucx";     ///< as make_transport() takes it
  /// Opens the transport instead of make_transport(): a program's own, or a test's with faults in it.
  std::function<Result<std::unique_ptr<Transport>>(const TransportOptions&)> open_transport;
  ReduceOp op = ReduceOp::kAverage;
  double timeout_s = 300;        ///< of every wait; slices of one wait count together
  std::string trace_directory;   ///< "": no timeline
  std::string record_directory;  ///< rank 0 writes model.txtpb and gradients.safetensors there, for the planner
};

/// Who waits: time that a helper's thread spends is not the program's standing still.
enum class Waiter : std::uint8_t { kProgram, kHelper };

/// What all ranks learn alike at the end of a step.
struct StepResult {
  std::uint32_t step = 0;
  bool finite = true;            ///< false: some rank's gradient was NaN or infinite; no residual has changed
  std::string first_non_finite;  ///< the first such gradient by name
};

enum class GradientId : std::uint32_t {};
/// One submission. Known until the gradient is submitted again; a state that is loaded forgets all.
enum class Handle : std::uint64_t {};

struct Submission {
  GradientId gradient;
  View data;  ///< the gradient's elements, contiguous: reduced in place
};

struct SessionStats {
  std::uint32_t steps = 0;
  std::uint64_t messages_sent = 0, messages_received = 0;
  Bytes payload_bytes_sent = 0, payload_bytes_received = 0, wire_bytes_sent = 0, wire_bytes_received = 0;
  std::uint64_t allocations = 0;  ///< by the progress thread and the streams since the end of the first step here
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
/// Errors:  the first failure is final and the same on all ranks; every later call returns it. By then nothing of the
///          session touches the gradients any more.
/// Forks:   in a forked child, which has none of its threads, every call returns Unavailable, at once.
class Session {
 public:
  virtual ~Session() = default;  ///< as close()

  /// Finds the other ranks, compares versions and plans, connects. Collective. Errors as Group::join,
  /// make_transport, read_plan_file; InvalidArgument: both a plan and a codec, ranks with different plans.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);

  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;
  /// All ranks and the nodes they run on, the same on every rank.
  virtual const Topology& topology() const = 0;
  /// What the step under way exchanges, by the plan: gradients, or in local SGD nothing or the differences of
  /// parameters (what they were when they last were the same, minus what they are), which are submitted like gradients.
  virtual Exchanged exchanged() const = 0;

  /// Makes a gradient known; on every rank, before the step that uses it, in any order.
  /// InvalidArgument: a name declared differently before, an unknown codec or parameter. PlanError: a decision
  /// that cannot be carried out. The same specification again gives the same id.
  virtual Result<GradientId> declare(const GradientSpec& gradient) = 0;

  /// Starts reducing, in place. Any order, any thread. The memory is the session's until the handle is done.
  /// `handles` has room for one of each submission. The first submit after a declare() or load_state() compares
  /// declarations and steps of all ranks and waits for them; no other allocates or waits.
  /// InvalidArgument: unknown id, wrong size, submitted twice in one step, a step that exchanges nothing; nothing of
  /// this call was started.
  virtual Status submit(std::span<const Submission> submissions, std::span<Handle> handles) = 0;
  /// The same with handles of its own.
  Result<std::vector<Handle>> submit(std::span<const Submission> submissions);

  /// Waits until the gradient holds the result; timeout_s < 0: as long as the session's own. Timeout: not by then
  /// (how long it has been under way, and what is missing). The session lives on, unless its own timeout_s has
  /// passed since somebody first waited for this submission: that ends the job, on all ranks.
  virtual Status wait(Handle handle, double timeout_s, Waiter waiter = Waiter::kProgram) = 0;
  virtual bool done(Handle handle) const = 0;
  /// The program stood still for so long because of this gradient, and not in wait() or step(): for reports.
  virtual Status note_exposed(Handle handle, double seconds) = 0;

  /// Ends the step: waits for all submitted, then commits residuals (or, not finite, keeps the old).
  virtual Result<StepResult> step() = 0;

  virtual SessionStats stats() const = 0;

  /// Residuals and counters as of the last committed step. Not while a step is under way (InvalidArgument).
  virtual Result<SessionState> state() const = 0;
  /// Goes on from `state`, earlier or later than this session's step; gradients that it does not name begin without a
  /// residual, and those declared later find theirs. On every rank, or on none: the next submit compares the steps, and
  /// ranks that differ end the job with InvalidArgument. Not while a step is under way (InvalidArgument).
  /// InvalidArgument: names the gradient and what differs (size, codec, ranks); nothing was loaded.
  virtual Status load_state(const SessionState& state) = 0;

  /// Ends the job on all ranks with this reason.
  virtual void abort(const std::string& reason) = 0;

  /// Says goodbye and gives the others 5 s for theirs, and ends the session's threads. Nothing but the destructor may
  /// follow.
  /// Aborted: gradients were still under way. PeerFailure: a rank died meanwhile.
  virtual Status close() = 0;
};

/// As one JSON object with the fields' names.
std::string json_text(const SessionStats& stats);

}  // namespace casync::runtime
