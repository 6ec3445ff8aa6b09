// SPDX-License-Identifier: Apache-2.0
#include "tests/support/nccl/fake_nccl.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "runtime/collective/nccl/nccl_api.h"
#include "tests/support/nccl/meeting.h"

#define CASYNC_EXPORT extern "C" __attribute__((visibility("default")))

namespace casync::test::fake_nccl {
namespace {

using compll::DriverApi;
using runtime::NcclApi;
using Code = NcclApi::Code;

constexpr int kVersion = 23007;
constexpr std::size_t kMostRanks = 64;

// Calls begin so much later: a caller that does not wait for them queues its own work in front.
constexpr std::chrono::microseconds kLaunchTime{100};

struct Communicator;

/// A group of calls in a stream.
struct Launch {
  Communicator* communicator = nullptr;
  std::vector<Operation> operations;
};

/// None is ever destroyed: a stream that never runs may still know one.
struct Communicator {
  std::shared_ptr<Meeting> meeting;
  int rank = 0;
  DriverApi::Handle context = nullptr;
  Code state = NcclApi::kInProgress;
  bool finalized = false, aborted = false, ended = false;
  int inside = 0;  ///< launches that run
  int queued = 0;  ///< launches that have not ended
  std::deque<Launch> launches;
  std::thread launcher;
};

struct Unready {
  int ranks = 0;
  std::vector<Communicator*> came;
};

/// One for the process.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  const DriverApi* driver = nullptr;
  int version = kVersion;
  bool inits_held = false;
  std::uint64_t ids = 0;
  std::map<std::string, Code, std::less<>> refusals;
  std::map<std::string, std::uint64_t, std::less<>> calls;
  std::map<std::string, Unready> unready;  ///< by id
  std::deque<std::unique_ptr<Communicator>> communicators;
  int waiting = 0;
  std::string last_error;
};
State& state() {
  static State& one = *new State;
  return one;
}

/// A call of this thread since it began its group.
struct Called {
  Communicator* communicator;
  DriverApi::Handle stream;
  Operation operation;
};
thread_local int depth = 0;
thread_local std::vector<Called> group;
thread_local Code group_error = 0;  ///< the first in the group: it launches nothing then

/// Counts a call; its injected failure. Under the mutex.
Code begin(const char* function) {
  State& all = state();
  ++all.calls[function];
  const auto refused = all.refusals.find(function);
  if (refused == all.refusals.end()) return 0;
  const Code code = refused->second;
  all.refusals.erase(refused);
  all.last_error = "refused for a test";
  return code;
}

Code wrong(Code code, const char* why) {
  state().last_error = why;
  return code;
}

/// The calling thread's context; null: it has none.
DriverApi::Handle current_context() {
  const DriverApi& driver = *state().driver;
  DriverApi::Handle context = nullptr;
  return driver.pop_context(&context) == 0 && driver.push_context(context) == 0 ? context : nullptr;
}

/// Makes communicators ready whose ranks have all come. Under the mutex.
void complete_inits() {
  State& all = state();
  if (all.inits_held) return;
  std::erase_if(all.unready, [](const auto& one) {
    const Unready& unready = one.second;
    if (unready.came.size() != static_cast<std::size_t>(unready.ranks)) return false;
    const auto meeting = std::make_shared<Meeting>(unready.ranks);
    for (Communicator* each : unready.came) {
      each->meeting = meeting;
      if (each->state == NcclApi::kInProgress) each->state = 0;
    }
    return true;
  });
}

/// Runs in the stream.
void run(void* user) {
  Launch& launch = *static_cast<Launch*>(user);
  Communicator& mine = *launch.communicator;
  State& all = state();
  std::unique_lock lock(all.mutex);
  if (!mine.aborted) {
    ++mine.inside;
    ++all.waiting;
    mine.meeting->run(mine.rank, launch.operations, lock, all.changed, mine.aborted);
    --all.waiting;
    --mine.inside;
  }
  --mine.queued;
  all.changed.notify_all();
}

/// Puts the launch into the stream, a little later.
void launch(Communicator& mine, Launch& one, DriverApi::Handle stream) {
  std::this_thread::sleep_for(kLaunchTime);
  State& all = state();
  const DriverApi& driver = *all.driver;
  DriverApi::Handle popped = nullptr;
  DriverApi::Code code = driver.push_context(mine.context);
  if (code == 0) {
    code = driver.call_host(stream, run, &one);
    driver.pop_context(&popped);
  }
  const std::lock_guard lock(all.mutex);
  if (code != 0) --mine.queued;
  if (mine.state == NcclApi::kInProgress) mine.state = code == 0 ? 0 : NcclApi::kUnhandledCudaError;
  all.changed.notify_all();
}

/// Under the mutex.
Code start(Communicator& mine, std::vector<Operation> operations, DriverApi::Handle stream) {
  if (mine.state == NcclApi::kInProgress) {
    return wrong(NcclApi::kInvalidArgument, "a call while the previous one has not come to its end");
  }
  if (mine.state != 0) return mine.state;
  mine.state = NcclApi::kInProgress;
  ++mine.queued;
  mine.launches.push_back({&mine, std::move(operations)});
  if (mine.launcher.joinable()) mine.launcher.join();  // it has set the state: it takes the mutex no more
  mine.launcher = std::thread([&mine, &one = mine.launches.back(), stream] { launch(mine, one, stream); });
  return NcclApi::kInProgress;
}

Code end_group() {
  const std::lock_guard lock(state().mutex);
  if (const Code code = begin("ncclGroupEnd"); code != 0 || depth == 0) {
    depth = 0;
    group.clear();
    return code != 0 ? code : wrong(NcclApi::kInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  }
  if (--depth > 0) return 0;
  const std::vector<Called> calls = std::exchange(group, {});
  if (const Code code = std::exchange(group_error, 0); code != 0) return code;
  if (calls.empty()) return 0;
  std::vector<Operation> operations;
  for (const Called& one : calls) {
    if (one.communicator != calls[0].communicator || one.stream != calls[0].stream) {
      return wrong(NcclApi::kInvalidUsage, "a group of several communicators or streams");
    }
    operations.push_back(one.operation);
  }
  return start(*calls[0].communicator, std::move(operations), calls[0].stream);
}

/// Under the mutex.
Code check(const char* function, const Communicator& mine, const Operation& operation) {
  if (const Code code = begin(function); code != 0) return code;
  if (mine.ended) return wrong(NcclApi::kInvalidArgument, "the communicator has ended");
  if (mine.state != 0) return wrong(NcclApi::kInvalidArgument, "the communicator is not ready");
  if (mine.finalized) return wrong(NcclApi::kInvalidArgument, "the communicator has been finalized");
  if (operation.type != NcclApi::kUint8 && operation.type != NcclApi::kFloat32) {
    return wrong(NcclApi::kInvalidArgument, "a type that nothing here calls with");
  }
  if (operation.reduction != NcclApi::kSum && operation.reduction != NcclApi::kMost) {
    return wrong(NcclApi::kInvalidArgument, "an operator that nothing here calls with");
  }
  if (current_context() != mine.context) return wrong(NcclApi::kUnhandledCudaError, "its device is not current");
  const bool to_peer = operation.kind != Operation::Kind::kAllReduce;
  const bool has_peer = operation.peer >= 0 && operation.peer < mine.meeting->ranks();
  return to_peer && !has_peer ? wrong(NcclApi::kInvalidArgument, "no such peer") : 0;
}

Code call(const char* function, NcclApi::Handle handle, NcclApi::Handle stream, const Operation& operation) {
  {
    const std::lock_guard lock(state().mutex);
    auto& mine = *static_cast<Communicator*>(handle);
    if (const Code code = check(function, mine, operation); code != 0) {
      if (depth > 0) group_error = code;
      return code;
    }
    group.push_back({&mine, stream, operation});
    if (depth > 0) return 0;
    depth = 1;
  }
  return end_group();
}

Code init_rank(NcclApi::Handle* handle, int ranks, const NcclApi::UniqueId& id, int rank,
               const NcclApi::Config* config) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (const Code code = begin("ncclCommInitRankConfig"); code != 0) return code;
  if (config->magic != NcclApi::Config().magic || config->blocking != 0) {
    return wrong(NcclApi::kInvalidArgument, "a configuration of a communicator that does not block is expected");
  }
  if (rank < 0 || rank >= ranks || static_cast<std::size_t>(ranks) > kMostRanks) return NcclApi::kInvalidArgument;
  const DriverApi::Handle context = current_context();
  if (context == nullptr) return wrong(NcclApi::kUnhandledCudaError, "no device is current");
  auto made = std::make_unique<Communicator>();
  made->rank = rank;
  made->context = context;
  Unready& unready = all.unready[std::string(id.bytes, sizeof id.bytes)];
  unready.ranks = ranks;
  unready.came.push_back(made.get());
  *handle = made.get();
  all.communicators.push_back(std::move(made));
  complete_inits();
  return NcclApi::kInProgress;
}

Code async_error(NcclApi::Handle handle, Code* code) {
  const std::lock_guard lock(state().mutex);
  if (const Code refused = begin("ncclCommGetAsyncError"); refused != 0) return refused;
  *code = static_cast<Communicator*>(handle)->state;
  return 0;
}

Code finalize(NcclApi::Handle handle) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (const Code code = begin("ncclCommFinalize"); code != 0) return code;
  auto& mine = *static_cast<Communicator*>(handle);
  if (mine.state != 0 || mine.finalized) {
    return wrong(NcclApi::kInvalidArgument, "the communicator is not ready, or has been finalized");
  }
  mine.finalized = true;
  mine.state = NcclApi::kInProgress;
  if (mine.launcher.joinable()) mine.launcher.join();
  mine.launcher = std::thread([&mine] {
    std::unique_lock waiting(state().mutex);
    state().changed.wait(waiting, [&] { return mine.queued == 0 || mine.aborted; });
    if (mine.state == NcclApi::kInProgress) mine.state = 0;
  });
  return NcclApi::kInProgress;
}

/// Ends the communicator; waits until none of its calls runs.
Code end(const char* function, NcclApi::Handle handle, bool abort) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  if (const Code code = begin(function); code != 0) return code;
  auto& mine = *static_cast<Communicator*>(handle);
  if (mine.ended) return wrong(NcclApi::kInvalidArgument, "the communicator has ended");
  if (!abort && mine.state == NcclApi::kInProgress) {
    return wrong(NcclApi::kInvalidArgument, "the previous call has not come to its end");
  }
  mine.ended = true;
  mine.aborted = mine.aborted || abort;
  all.changed.notify_all();
  all.changed.wait(lock, [&] { return mine.inside == 0; });
  std::thread launcher = std::move(mine.launcher);
  lock.unlock();
  if (launcher.joinable()) launcher.join();
  return 0;
}

const char* text(Code code) {
  static constexpr const char* kTexts[] = {"no error",
                                           "unhandled cuda error",
                                           "unhandled system error",
                                           "internal error",
                                           "invalid argument",
                                           "invalid usage",
                                           "remote process exited or there was a network error",
                                           "in progress"};
  return code >= 0 && code <= NcclApi::kInProgress ? kTexts[code] : "unknown result";
}

}  // namespace

#define CASYNC_VISIBLE __attribute__((visibility("default")))

CASYNC_VISIBLE void use(const DriverApi& driver) { state().driver = &driver; }
CASYNC_VISIBLE void reset() {
  const std::lock_guard lock(state().mutex);
  state().version = kVersion;
  state().inits_held = false;
  state().refusals.clear();
  state().unready.clear();
  state().last_error.clear();
}
CASYNC_VISIBLE void set_version(int version) { state().version = version; }
CASYNC_VISIBLE void hold_inits(bool hold) {
  const std::lock_guard lock(state().mutex);
  state().inits_held = hold;
  complete_inits();
}
CASYNC_VISIBLE void refuse(std::string_view function, int code) {
  const std::lock_guard lock(state().mutex);
  state().refusals[std::string(function)] = code;
}
CASYNC_VISIBLE void fail(int rank, int code) {
  const std::lock_guard lock(state().mutex);
  for (const auto& one : state().communicators) {
    if (one->rank == rank && !one->ended) one->state = code;
  }
}
CASYNC_VISIBLE int waiting() {
  const std::lock_guard lock(state().mutex);
  return state().waiting;
}
CASYNC_VISIBLE std::uint64_t calls(std::string_view function) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().calls.find(function);
  return found == state().calls.end() ? 0 : found->second;
}

}  // namespace casync::test::fake_nccl

namespace fake = casync::test::fake_nccl;
using casync::runtime::NcclApi;
using fake::Operation;
using Handle = NcclApi::Handle;

CASYNC_EXPORT int ncclGetVersion(int* version) {
  *version = fake::state().version;
  return 0;
}
CASYNC_EXPORT const char* ncclGetErrorString(int code) { return fake::text(code); }
CASYNC_EXPORT const char* ncclGetLastError(Handle) {
  const std::lock_guard lock(fake::state().mutex);
  static thread_local std::string last;
  last = fake::state().last_error;
  return last.c_str();
}
CASYNC_EXPORT int ncclGetUniqueId(NcclApi::UniqueId* id) {
  const std::lock_guard lock(fake::state().mutex);
  if (const int code = fake::begin("ncclGetUniqueId"); code != 0) return code;
  *id = {};
  std::memcpy(id->bytes, &++fake::state().ids, sizeof fake::state().ids);
  return 0;
}
CASYNC_EXPORT int ncclCommInitRankConfig(Handle* handle, int ranks, NcclApi::UniqueId id, int rank,
                                         NcclApi::Config* config) {
  return fake::init_rank(handle, ranks, id, rank, config);
}
CASYNC_EXPORT int ncclCommGetAsyncError(Handle handle, int* code) { return fake::async_error(handle, code); }
CASYNC_EXPORT int ncclCommFinalize(Handle handle) { return fake::finalize(handle); }
CASYNC_EXPORT int ncclCommDestroy(Handle handle) { return fake::end("ncclCommDestroy", handle, false); }
CASYNC_EXPORT int ncclCommAbort(Handle handle) { return fake::end("ncclCommAbort", handle, true); }
CASYNC_EXPORT int ncclGroupStart() {
  const std::lock_guard lock(fake::state().mutex);
  if (const int code = fake::begin("ncclGroupStart"); code != 0) return code;
  ++fake::depth;
  return 0;
}
CASYNC_EXPORT int ncclGroupEnd() { return fake::end_group(); }
CASYNC_EXPORT int ncclSend(const void* from, std::size_t count, int type, int peer, Handle handle, Handle stream) {
  return fake::call("ncclSend", handle, stream, {Operation::Kind::kSend, from, nullptr, count, type, 0, peer, false});
}
CASYNC_EXPORT int ncclRecv(void* to, std::size_t count, int type, int peer, Handle handle, Handle stream) {
  return fake::call("ncclRecv", handle, stream, {Operation::Kind::kRecv, nullptr, to, count, type, 0, peer, false});
}
CASYNC_EXPORT int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int reduction, Handle handle,
                                Handle stream) {
  return fake::call("ncclAllReduce", handle, stream,
                    {Operation::Kind::kAllReduce, from, to, count, type, reduction, -1, false});
}
