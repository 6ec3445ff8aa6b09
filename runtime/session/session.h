// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/view.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "runtime/control/launch/launch.h"
#include "runtime/control/rendezvous/store.h"
#include "runtime/device/device.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The reduction of a session's gradients.
enum class ReduceOp : std::uint8_t {
  kAverage,
  kSum,
  kCopy,  ///< memory of declare_copied() goes from rank to rank as it is, and gradients are summed. No plan, no codec,
          ///< no record
};
/// "average", "sum", "copy".
std::string_view name_of(ReduceOp op);

/// Options of a session. All ranks give the same op, plan or codec, and kind of device.
struct SessionOptions {
  LaunchArguments launch;
  StoreFunctions store;              ///< both set: used instead of launch's rendezvous
  std::string plan_file;             ///< "": no plan
  std::optional<CodecChoice> codec;  ///< instead of a plan: this for every gradient
  /// As make_transport() takes it. Or "nccl", on a GPU: messages match by their order then, and every rank submits all
  /// gradients that it has declared in each step; docs/transports.md says the rest.
  std::string transport = "ucx";
  /// Opens the transport instead of make_transport(): a program's own, or a test's with faults in it. With "nccl": the
  /// one beside it, for the few messages that have names.
  std::function<Result<std::unique_ptr<Transport>>(const TransportOptions&)> open_transport;
  /// The place of all gradients of this rank: "cpu", "cuda:1"; "cuda": the GPU at its local rank.
  std::string device = "cpu";
  /// Opens the device instead of its name: a test's.
  std::function<Result<std::unique_ptr<Device>>(const std::string&)> open_device;
  ReduceOp op = ReduceOp::kAverage;
  double timeout_s = 300;        ///< of every wait; slices of one wait count together
  std::string trace_directory;   ///< "": no timeline
  std::string record_directory;  ///< rank 0 writes model.txtpb and gradients.safetensors there, for the planner
};

/// The thread that waits: time that a helper's thread spends does not count as the program standing still.
enum class Waiter : std::uint8_t { kProgram, kHelper };

/// The result of a step, the same on all ranks; with gossip, of this rank and its neighbours; of asynchronous ranks, of
/// the contributions that this rank has been answered with.
struct StepResult {
  std::uint32_t step = 0;
  bool finite = true;            ///< false: some rank's gradient was NaN or infinite, or a result is, in the gradient's
                                 ///< type; no residual has changed (of those in one buffer all begin anew), or of
                                 ///< asynchronous ranks only those of gradients that owners have added
  std::string first_non_finite;  ///< the first such gradient by name
};

enum class GradientId : std::uint32_t {};
/// One submission. Known until the gradient is submitted again; a state that is loaded forgets all.
enum class Handle : std::uint64_t {};

/// One gradient's elements for a step.
struct Submission {
  GradientId gradient;
  View data;  ///< the gradient's elements, contiguous: reduced in place
  /// Instead of `data` in a session on a device: the elements there, and the stream that writes them, as the device's
  /// runtime has it. The reduction follows what is queued in the stream by the time of submit(). The gradient is done
  /// once the device has written it: then no stream needs to wait for anything.
  DeviceView device_data = {};
  void* stream = nullptr;  ///< if the session records, or its plan has a prediction: it stays until close()
};

/// Counters of this rank since the session opened. Times in seconds.
struct SessionStats {
  std::uint32_t steps = 0;
  std::uint64_t messages_sent = 0, messages_received = 0;
  Bytes payload_bytes_sent = 0, payload_bytes_received = 0, wire_bytes_sent = 0, wire_bytes_received = 0;
  std::uint64_t allocations = 0;  ///< by the progress thread and the streams since the end of the first step here
  double encode_s = 0, decode_s = 0, merge_s = 0, send_s = 0, recv_s = 0;  ///< summed over tasks
  double idle_s = 0;                                                       ///< the progress thread asleep
  std::uint64_t tasks = 0;
  Bytes pinned_bytes = 0, most_pinned_bytes = 0;  ///< of a device: taken now, and what the session may take
  std::string transport;                          ///< the transport's description
};

/// One gradient's memory between steps, to be saved with the model.
struct GradientState {
  struct Range {
    Elements first = 0, count = 0;
    bool operator==(const Range&) const = default;
  };
  std::string codec;            ///< the residual's owner: codec names and parameters
  std::vector<float> residual;  ///< as many as the gradient has elements; empty without feedback
  /// Elements whose result this rank encodes as their owner: of a mean their residual counts once for each rank.
  std::vector<Range> owned = {};
  bool is_residual = false;  ///< `residual` is only the values not sent, one float for each element
  /// Elements that this rank encodes as its contribution. It keeps nothing of those that are in neither list.
  std::vector<Range> sent = {};
  std::string op = {};  ///< the session's; empty: nothing is known of `owned` and `sent`, and they fit any run
};
/// All gradients' memory after a step, of one rank.
struct SessionState {
  std::uint32_t step = 0;
  int ranks = 0;
  Rank rank = 0;
  std::map<std::string, GradientState> gradients;  ///< by gradient name
};

/// The one class a framework talks to: gradients go in as each rank has them and come back reduced, the same
/// bytes on every rank (with gossip, those of its neighbours; of asynchronous ranks, in portions of their own).
///
/// Threads: any thread may call anything; one thread at a time per call of step(), declare() and load_state().
/// Errors:  the first failure is final and the same on all ranks; every later call returns it, but for waits for
///          gradients that are done, and for state(), which still gives the last committed step's. From then on the
///          session does not access the gradients: the call waits up to timeout_s for tasks that have begun, and the
///          failure says if that was not enough.
/// Stalls:  when nothing has moved for 30 s (or timeout_s / 10, if that is less) although gradients are under way, each
///          rank logs a warning with what it lacks and from whom, and again every minute.
/// Forks:   in a forked child, which has none of its threads, every call returns Unavailable, at once.
class Session {
 public:
  virtual ~Session() = default;  ///< as close()

  /// Finds the other ranks, compares versions and plans, connects. Collective. Errors as Group::join,
  /// make_transport, read_plan_file; InvalidArgument: both a plan and a codec, ranks with different plans or kinds of
  /// devices, ranks in several processes over a transport that joins threads. Unimplemented: what sessions on a device
  /// do not do yet.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);

  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;
  /// All ranks and the nodes they run on, the same on every rank.
  virtual const Topology& topology() const = 0;
  /// The values that this step exchanges, by the plan: gradients, or in local SGD nothing or the differences of
  /// parameters (their values when they last were the same, minus their values now), submitted like gradients. With
  /// gossip, nothing or the parameters as they are, which come back as the mean of this rank's and its neighbours', or
  /// with a codec nearer to it. A program has to ask in each step of gossip that it submits parameters in.
  virtual Exchanged exchanged() const = 0;
  /// Makes the step under way a consensus: it exchanges parameters, and they come back as the exact mean of all ranks,
  /// the same bytes on each. On every rank in the same step: a rank that does not call it is waited for until the
  /// session's timeout. InvalidArgument: the plan has neither gossip nor asynchronous, or the step has submissions.
  virtual Status begin_consensus() = 0;

  /// Makes a gradient known. Every rank declares it, in any order, ahead of the step() of the first step in
  /// which a rank submits it. Ranks compare declarations by name once each has submitted something or ended a step
  /// after declaring; a difference ends the job with InvalidArgument, the first difference and both values.
  /// InvalidArgument: a name that was declared differently, an unknown codec or parameter. PlanError: a decision
  /// that cannot be carried out. The same specification again gives the same id.
  virtual Result<GradientId> declare(const GradientSpec& gradient) = 0;

  /// In a session with op `copy`, instead of declare(): memory whose bytes go from rank to rank as they are. With a
  /// root every rank gets the root's. Without one each gets all shards, and its own is the rank-th of equal ones.
  /// Elements are words of 4 bytes, called float32. InvalidArgument: as declare(), and another op, no such root,
  /// unequal shards.
  virtual Result<GradientId> declare_copied(const GradientSpec& gradient, std::optional<Rank> root);

  /// Starts reducing, in place. Any order, any thread. The memory is the session's until the handle is done.
  /// `handles` has room for one of each submission. A gradient that some rank has not declared yet is held until then.
  /// The first submit of a session and after load_state() compares steps of all ranks and waits for them; others do not
  /// wait. A submit after a declare() allocates; others do not.
  /// InvalidArgument: unknown id, wrong size, memory of another device than the session's, submitted twice in one step,
  /// a step that exchanges nothing, or parameters without having been asked; nothing of this call was started.
  virtual Status submit(std::span<const Submission> submissions, std::span<Handle> handles) = 0;
  /// The same with handles of its own.
  Result<std::vector<Handle>> submit(std::span<const Submission> submissions);

  /// Waits until the gradient holds the result; timeout_s < 0: as long as the session's own. Timeout: not by then
  /// (how long it has been under way, and what is missing). The session lives on, unless its own timeout_s has
  /// passed since somebody first waited for this submission: that ends the job, on all ranks.
  virtual Status wait(Handle handle, double timeout_s, Waiter waiter = Waiter::kProgram) = 0;
  virtual bool done(Handle handle) const = 0;
  /// Returns true if every element of a result that is done is known to be finite; not after another submission of the
  /// gradient. For a session that wraps this one.
  virtual bool has_finite_result(Handle) const { return false; }
  /// Waits on a helper's thread until one of `handles` is done, `interrupted` is set and nudge() has been called, or
  /// the moment `until` comes. May return earlier with none. Fills `done` with those that are, also on an error. The
  /// session's timeout_s runs for each of them as in wait(), and ends the job. Aborted: the session was closed.
  virtual Status wait_any(std::span<const Handle> handles, Clock::time_point until,
                          const std::atomic<bool>& interrupted, std::vector<Handle>* done) = 0;
  virtual void nudge() = 0;
  /// The program stood still for so long because of this gradient, and not in wait() or step(): for reports.
  virtual Status note_exposed(Handle handle, double seconds) = 0;

  /// OK, or the failure that every later call returns. Unavailable: in a forked child.
  virtual Status failure() const = 0;

  /// Says that this rank submits nothing more in the step under way, as step() does. For programs that wait for handles
  /// earlier than step(): ranks whose gradients differ in name then learn it at once, and not by a timeout. Any thread.
  virtual void end_submissions() = 0;

  /// Ends the step: waits for all submitted, then commits residuals (or, not finite, keeps the old; those in one buffer
  /// begin anew). All submissions of a step come ahead of its step(), on every rank; one that another thread makes
  /// meanwhile is waited for, too, or is of the next step. A step that was complete when another rank left or failed is
  /// committed all the same, and the next call returns the failure.
  virtual Result<StepResult> step() = 0;

  virtual SessionStats stats() const = 0;

  /// Residuals and counters as of the last committed step. Not while a step is under way, nor after a gradient that has
  /// one buffer for its residual, or copies of parameters that the step changes (gossip with codecs), was submitted in
  /// it (InvalidArgument). Of asynchronous ranks also what they have not been told, and only where that is the same for
  /// all ranks: ahead of the first step, and between a consensus and the next submission (InvalidArgument). The same
  /// for load_state().
  /// After a failure a step that was under way counts as none, so that a program can still save what it has; a rank
  /// whose step was complete may be a step ahead of the others then, which the load tells. Results that come late
  /// (staleness) are lost with the step that should have brought them: then it returns the failure.
  virtual Result<SessionState> state() const = 0;
  /// Goes on from `state`, earlier or later than this session's step; gradients that it does not name begin without a
  /// residual, and those declared later find theirs. On every rank, or on none: the next submit compares the steps, and
  /// ranks that differ end the job with InvalidArgument. Not while a step is under way (InvalidArgument).
  /// InvalidArgument: names the gradient and what differs (size, codec, ranks); nothing was loaded.
  /// Handles are forgotten: wait() on another thread then returns InvalidArgument for one, and Completions::catch_up()
  /// comes first.
  virtual Status load_state(const SessionState& state) = 0;

  /// Ends the job on all ranks with this reason.
  virtual void abort(const std::string& reason) = 0;

  /// Waits until everything that this rank has sent has arrived, says goodbye and ends the session's threads. Ranks may
  /// close in any order, and long after one another: a rank that needs nothing more of one that has left goes on, and
  /// one that does learns it at once. Rank 0 serves the others until they have left, too, for timeout_s at most; they
  /// wait for each other's goodbyes as long as a rank may be silent. An asynchronous rank answers the others first,
  /// until all have called close(), or none has submitted anything for timeout_s: that ends the job, with Timeout.
  /// Nothing but the destructor may follow. A thread that calls it meanwhile waits, and gets the same status.
  /// Aborted: gradients were still under way, or parts of groups. PeerFailure: a rank died meanwhile. A session that
  /// has failed earlier complains of neither. Timeout: a task that was begun has not ended after timeout_s; its thread
  /// goes on, and the gradients' memory is still in use.
  virtual Status close() = 0;

  /// After close(): returns true if a thread, the network or a device may still use the gradients' memory, as the
  /// session's failure or close() has said. The owner of that memory keeps it then.
  virtual bool holds_memory() const { return false; }
};

/// As one JSON object with the fields' names.
std::string json_text(const SessionStats& stats);

}  // namespace casync::runtime
