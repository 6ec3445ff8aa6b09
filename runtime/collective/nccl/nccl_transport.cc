// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/nccl/nccl_transport.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "runtime/device/cuda/cuda_stream.h"

namespace casync::runtime {
namespace {

using Code = NcclApi::Code;
using Handle = NcclApi::Handle;

// Interval at which a communicator that is being made or ended is looked at.
constexpr std::chrono::microseconds kLook{200};

// A call of NCCL that is not over by then is taken for stuck, and ncclCommAbort() goes on meanwhile.
constexpr std::chrono::milliseconds kCallTime{1000};

StatusCode kind_of(Code code) {
  switch (code) {
    case NcclApi::kRemoteError: return StatusCode::kPeerFailure;
    case NcclApi::kUnhandledCudaError:
    case NcclApi::kSystemError: return StatusCode::kUnavailable;
    default: return StatusCode::kInternal;
  }
}

/// A communicator, which an abort may outlive everything else with.
struct Communicator {
  explicit Communicator(const NcclApi& from) : api(from) {}

  /// Ends it, on a thread of its own or, if there is none left, on this one.
  static void abort(const std::shared_ptr<Communicator>& one) {
    if (one->aborting.exchange(true)) return;
    const auto end = [one] {
      // The caller of another function must not lose the communicator under its hands.
      std::unique_lock calls(one->calls, std::defer_lock);
      static_cast<void>(calls.try_lock_for(kCallTime));
      if (one->handle != nullptr) one->api.abort(one->handle);
      const std::lock_guard lock(one->mutex);
      one->ended = true;
      one->changed.notify_all();
    };
    Result<std::thread> thread = start_thread("casync-abort", end);
    if (thread) {
      thread->detach();
    } else {
      end();
    }
  }

  const NcclApi& api;
  std::timed_mutex calls;  ///< held by whoever calls NCCL with the handle
  Handle handle = nullptr;
  std::atomic<bool> aborting{false};

  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;  ///< under mutex: by abort()
};

class NcclTransport final : public RoundTransport {
 public:
  NcclTransport(const NcclApi& api, const NcclOptions& options)
      : api_(api),
        rank_(options.rank),
        ranks_(options.ranks),
        stream_(static_cast<CudaStream&>(*options.stream)),
        communicator_(std::make_shared<Communicator>(api)) {}
  ~NcclTransport() override {
    if (!closed_) Communicator::abort(communicator_);
  }

  /// Begins to make the communicator.
  Status start(const NcclApi::UniqueId& id) {
    NcclApi::Config config;
    config.blocking = 0;
    return call({"ncclCommInitRankConfig"},
                [&] { return api_.init_rank(&communicator_->handle, ranks_, id, rank_, &config); });
  }

  Status exchange(std::span<const RoundPiece> sends, std::span<const RoundPiece> recvs) override {
    if (sends.empty() && recvs.empty()) return Status::ok();
    return group([&]() -> Status {
      for (const RoundPiece& piece : sends) CASYNC_RETURN_IF_ERROR(send(piece));
      for (const RoundPiece& piece : recvs) CASYNC_RETURN_IF_ERROR(recv(piece));
      return Status::ok();
    });
  }

  Status all_reduce(DeviceView memory, Reduction reduction) override {
    const bool floats = reduction == Reduction::kSumOfFloats;
    const Bytes count = floats ? memory.size() / sizeof(float) : memory.size();
    if (count == 0) return Status::ok();
    void* const at = pointer(memory);
    return group([&] {
      return call({"ncclAllReduce"}, [&] {
        return api_.all_reduce(at, at, count, floats ? NcclApi::kFloat32 : NcclApi::kUint8,
                               floats ? NcclApi::kSum : NcclApi::kMost, communicator_->handle, stream_.handle());
      });
    });
  }

  Result<bool> poll() override {
    Code state = 0;
    CASYNC_RETURN_IF_ERROR(
        call({"ncclCommGetAsyncError"}, [&] { return api_.async_error(communicator_->handle, &state); }));
    if (state == NcclApi::kInProgress) return false;
    if (state != 0) return error({"ncclCommGetAsyncError"}, state);
    return true;
  }

  Status close(Clock::time_point deadline) override {
    closed_ = true;
    Status status = call({"ncclCommFinalize"}, [&] { return api_.finalize(communicator_->handle); });
    if (status) status = wait(deadline, "what was queued has not ended in time", [] { return Status::ok(); });
    if (status) {
      status = call({"ncclCommDestroy"}, [&] { return api_.destroy(std::exchange(communicator_->handle, nullptr)); });
    }
    if (!status) Communicator::abort(communicator_);
    return status;
  }

  void abort() override { Communicator::abort(communicator_); }

  bool wait_for_abort(Clock::time_point deadline) override {
    std::unique_lock lock(communicator_->mutex);
    return communicator_->changed.wait_until(lock, deadline, [&] { return communicator_->ended; });
  }

  std::string description() const override {
    return "nccl " + nccl_version_text(api_.found) + ", " + std::to_string(ranks_) + " ranks";
  }

  /// Waits until poll() is true. Timeout: `late`.
  Status wait(Clock::time_point deadline, const std::string& late, const std::function<Status()>& interrupted) {
    while (true) {
      const Result<bool> ready = poll();
      if (!ready) return ready.status();
      if (*ready) return Status::ok();
      CASYNC_RETURN_IF_ERROR(interrupted());
      if (Clock::now() >= deadline) return timeout_error(here() + ": " + late);
      std::this_thread::sleep_for(kLook);
    }
  }

 private:
  static void* pointer(DeviceView memory) { return reinterpret_cast<void*>(memory.address()); }

  /// A call, as errors name it.
  struct Named {
    const char* function;
    const char* with = "";  ///< " to rank "
    Rank peer = -1;
    std::string text() const { return function + (peer < 0 ? "" : with + std::to_string(peer)); }
  };

  std::string here() const { return "rank " + std::to_string(rank_) + ": NCCL " + nccl_version_text(api_.found); }

  Status error(const Named& what, Code code) const {
    const char* const more = api_.last_error(communicator_->handle);
    std::string text = here() + ": " + what.text() + ": " + api_.error_text(code);
    if (more != nullptr && *more != '\0') text += " (" + std::string(more) + ")";
    return Status(kind_of(code), text);
  }

  /// One function of NCCL, with the device's context current.
  template <class Call>
  Status call(const Named& what, const Call& function) {
    const std::lock_guard lock(communicator_->calls);
    if (communicator_->aborting) return aborted(here() + ": " + what.text() + ": the communicator was aborted");
    Code code = 0;
    CASYNC_RETURN_IF_ERROR(stream_.calls()("cuCtxPushCurrent", [&](const CudaCalls::Api&) {
      code = function();
      return CudaCalls::Api::Code{0};
    }));
    return code == 0 || code == NcclApi::kInProgress ? Status::ok() : error(what, code);
  }

  /// Ends the group also where something in it fails: the next one would be inside it.
  template <class Calls>
  Status group(const Calls& calls) {
    CASYNC_RETURN_IF_ERROR(call({"ncclGroupStart"}, [&] { return api_.begin_group(); }));
    const Status status = calls();
    const Status end = call({"ncclGroupEnd"}, [&] { return api_.end_group(); });
    return status ? end : status;
  }

  Status send(const RoundPiece& piece) {
    CASYNC_CHECK(piece.peer != rank_);
    if (piece.memory.size() == 0) return Status::ok();
    return call({"ncclSend", " to rank ", piece.peer}, [&] {
      return api_.send(pointer(piece.memory), piece.memory.size(), NcclApi::kUint8, piece.peer, communicator_->handle,
                       stream_.handle());
    });
  }
  Status recv(const RoundPiece& piece) {
    CASYNC_CHECK(piece.peer != rank_);
    if (piece.memory.size() == 0) return Status::ok();
    return call({"ncclRecv", " from rank ", piece.peer}, [&] {
      return api_.recv(pointer(piece.memory), piece.memory.size(), NcclApi::kUint8, piece.peer, communicator_->handle,
                       stream_.handle());
    });
  }

  const NcclApi& api_;
  const Rank rank_;
  const int ranks_;
  CudaStream& stream_;
  const std::shared_ptr<Communicator> communicator_;
  bool closed_ = false;
};

}  // namespace

Result<std::string> make_nccl_id(const NcclApi& api) {
  NcclApi::UniqueId id;
  if (const Code code = api.unique_id(&id); code != 0) {
    return unavailable("NCCL " + nccl_version_text(api.found) + ": ncclGetUniqueId: " + api.error_text(code) +
                       ": is there a network interface? NCCL_SOCKET_IFNAME names one");
  }
  return std::string(id.bytes, sizeof id.bytes);
}

Result<std::unique_ptr<RoundTransport>> open_nccl(const NcclApi& api, const NcclOptions& options,
                                                  Clock::time_point deadline) {
  NcclApi::UniqueId id;
  if (options.id.size() != sizeof id.bytes) {
    return invalid_argument("an id of NCCL has " + std::to_string(sizeof id.bytes) + " bytes, and this one has " +
                            std::to_string(options.id.size()));
  }
  std::memcpy(id.bytes, options.id.data(), sizeof id.bytes);
  auto transport = std::make_unique<NcclTransport>(api, options);
  CASYNC_RETURN_IF_ERROR(transport->start(id));
  CASYNC_RETURN_IF_ERROR(transport->wait(deadline,
                                         "a communicator of " + std::to_string(options.ranks) +
                                             " ranks was not ready in time: a rank has not come, or cannot be reached "
                                             "(NCCL_DEBUG=INFO says more, NCCL_SOCKET_IFNAME names the network)",
                                         options.interrupted));
  return std::unique_ptr<RoundTransport>(std::move(transport));
}

}  // namespace casync::runtime
