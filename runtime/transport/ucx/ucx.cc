// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "runtime/transport/peers.h"
#include "runtime/transport/retry_requests.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/ucx/abandon_times.h"
#include "runtime/transport/ucx/module.h"
#include "runtime/transport/ucx/ucx_notices.h"
#include "runtime/transport/ucx/ucx_receiver.h"
#include "runtime/transport/ucx/ucx_sender.h"
#include "runtime/transport/ucx/ucx_sleep.h"
#include "runtime/transport/ucx/ucx_worker.h"

namespace casync::runtime {
namespace {

class Ucx final : public Transport, private UcxEndpointObserver {
 public:
  Ucx(const TransportOptions& options, std::unique_ptr<UcxWorker> worker)
      : options_(options),
        worker_(std::move(worker)),
        receiver_(options, stats_),
        peers_(options.ranks, receiver_.inbox()),
        sender_(options, *worker_, peers_, stats_),
        notices_(options.ranks, *worker_, peers_, sender_),
        abandon_times_(options.ranks),
        sleep_(options.spin, *worker_, peers_, retries_) {}
  ~Ucx() override;

  Status open() {
    CASYNC_RETURN_IF_ERROR(sleep_.status());
    return receiver_.open(*worker_, peers_, sender_);
  }

  std::string address() const override { return worker_->address(); }
  Status connect(std::span<const std::string> addresses, TransportClient& client) override;
  void send(Rank to, std::span<const Outgoing> outgoing) override { sender_.send(to, outgoing); }
  void retry_held() override { retries_.ask(); }
  void retry_held(std::uint64_t gradient) override {
    if (receiver_.inbox().any_put_off()) retries_.ask(gradient);
  }
  bool progress() override;
  void wait(Clock::time_point deadline) override;
  void wake() override { sleep_.ring(); }
  void settle() override {
    notices_.begin_settling();
    worker_->endpoints().unmet().forget_all();
  }
  bool settled() const override { return notices_.settled(); }
  std::vector<Rank> unsettled() const override { return notices_.unsettled(); }
  bool close(Clock::time_point deadline) override;
  TransportStats stats() const override;
  Bytes announced_bytes(Rank to) const override { return worker_->announced_bytes(to); }
  std::string description() const override;

 private:
  // Time that ending broken or abandoned operations may take.
  static constexpr std::chrono::milliseconds kLastMoments{200};
  // Rounds in which they end, if nothing is wrong. On a busy machine that time may pass within one of them.
  static constexpr int kLastRounds = 1000;

  void broken(Rank peer, ucs_status_t why) noexcept override;
  void answer_the_met();
  bool handle_failures();
  void abandon_unended();
  bool end_endpoints(Clock::time_point deadline);

  TransportOptions options_;
  std::unique_ptr<UcxWorker> worker_;
  TransportStats stats_;
  UcxReceiver receiver_;
  Peers peers_;
  UcxSender sender_;
  UcxNotices notices_;
  AbandonTimes abandon_times_;
  RetryRequests retries_;
  UcxSleep sleep_;
  bool ended_ = false;
  std::uint64_t failures_handled_ = 0;
};

// Without close() the client may be gone already: nobody is told anything.
Ucx::~Ucx() {
  struct Nobody final : TransportClient {
    Placement place(Rank, const Message&) override { return Placement::later(); }
    void received(Rank, const Message&, Status) override {}
    void sent(std::uint64_t, Status) override {}
    void failed(Rank, Status) override {}
  } nobody;
  receiver_.inbox().set_client(nobody);
  peers_.set_client(nobody);
  static_cast<void>(end_endpoints(Clock::now() + kLastMoments));
}

Status Ucx::connect(std::span<const std::string> addresses, TransportClient& client) {
  if (addresses.size() != static_cast<std::size_t>(options_.ranks)) {
    return invalid_argument(fmt::format("{} addresses for {} ranks", addresses.size(), options_.ranks));
  }
  receiver_.inbox().set_client(client);
  peers_.set_client(client);
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    if (peer == options_.rank) continue;
    CASYNC_RETURN_IF_ERROR(worker_->endpoints().connect(peer, addresses[static_cast<std::size_t>(peer)], *this));
  }
  return Status::ok();
}

// UCX calls this from inside progress. A peer that said goodbye may go, unless we are still sending to it. One that
// heard ours need not answer.
void Ucx::broken(Rank peer, ucs_status_t why) noexcept {
  const bool idle = sender_.messages().idle(peer);
  if (peers_.left(peer) && idle) return;
  peers_.guard(peer, [&] {
    if (notices_.greeted(peer) && idle) return peers_.goodbye(peer);
    peers_.fail_later(peer, peer_failure(fmt::format("rank {}: connection lost ({})", peer, ucs_status_string(why))));
  });
}

// Ends the endpoints of peers that failed since the last time, and what was queued for them.
bool Ucx::handle_failures() {
  bool any = peers_.progress();
  if (failures_handled_ == peers_.failures()) return any;
  failures_handled_ = peers_.failures();
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    if (peers_.status(peer).is_ok()) continue;
    worker_->endpoints().disconnect(peer);
    sender_.cancel(peer, peers_.status(peer));
  }
  return peers_.progress() || any;
}

// Ends messages to peers that have failed, where UCX does not.
void Ucx::abandon_unended() {
  abandon_times_.begin_look();
  if (peers_.failures() == 0 || sender_.messages().idle()) return;
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    if (peers_.status(peer).is_ok() || sender_.messages().idle(peer)) continue;
    const bool has_ended = worker_->endpoints().has_ended(peer);
    if (abandon_times_.is_over(peer, has_ended, Clock::now())) sender_.abandon(peer, peers_.status(peer));
  }
}

// The way back to those that have begun to send to us: over an endpoint of ours a failure of theirs is seen, and they
// are told goodbye. In a crowd they hear of it, like those that were met ahead of it.
void Ucx::answer_the_met() {
  for (const Rank peer : receiver_.met().take_new()) {
    if (const Status status = worker_->endpoints().reach(peer); !status.is_ok()) peers_.fail_later(peer, status);
    receiver_.tell_of_crowd(peer);
  }
}

bool Ucx::progress() {
  bool moved = handle_failures();
  moved = retries_.meet(receiver_.inbox()) || moved;
  if (worker_->progress()) {
    sleep_.moved();
    moved = true;
  }
  answer_the_met();
  notices_.ask_to_settle();
  receiver_.watch_crowd();
  abandon_unended();
  return handle_failures() || moved;
}

void Ucx::wait(Clock::time_point deadline) {
  if (!sleep_.wait(std::min(deadline, abandon_times_.next_look()))) return;
  answer_the_met();
  handle_failures();
}

// Peers may still need us to take what they send, so we stay until all said goodbye; those that confirmed that they
// have everything do not.
bool Ucx::close(Clock::time_point deadline) {
  worker_->endpoints().unmet().begin_last_rest(Clock::now());
  while (!sender_.messages().idle() && Clock::now() < deadline) {
    if (!progress()) wait(deadline);
  }
  notices_.say_goodbye();
  worker_->start_flush();
  while (!((settled() || notices_.everybody_left()) && worker_->flushed()) && Clock::now() < deadline) {
    if (!progress()) wait(deadline);
    notices_.say_goodbye();
  }
  return end_endpoints(std::max(deadline, Clock::now() + kLastMoments));
}

// Returns false if a device may still write to memory. Otherwise UCX uses nothing of ours any more, or its own memory
// is left where it is: without progress() UCX itself writes nothing. Goes on where the client throws, and throws then.
bool Ucx::end_endpoints(Clock::time_point deadline) {
  if (std::exchange(ended_, true)) return true;
  std::exception_ptr thrown;
  const auto attempt = [&](auto step) {
    try {
      step();
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  };
  // Makes each report once: those behind one that throws follow it.
  const auto report = [&] {
    while (!attempt([&] { peers_.progress(); })) continue;
  };
  const Status closed = aborted("the transport was closed while this was under way");
  peers_.end_all(closed);
  attempt([&] { receiver_.inbox().fail_all(closed); });
  receiver_.fused_fetches().drop_waiting();
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    sender_.cancel(peer, closed);
    worker_->endpoints().disconnect(peer);
  }
  const auto ended = [&] {
    return worker_->endpoints().disconnected() && worker_->flushed() && sender_.messages().idle() &&
           receiver_.under_way() == 0;
  };
  for (int round = 0; !ended() && (round < kLastRounds || Clock::now() < deadline); ++round) {
    worker_->progress();
    report();
  }
  bool let_go = true;
  if (sender_.abandoned() != 0) worker_->leak();
  if (!ended()) {
    let_go = receiver_.under_way() == 0 || !worker_->devices_write();
    worker_->leak();
    if (!let_go) receiver_.fused_fetches().keep_memory();
    sender_.abandon_all(closed);
    attempt([&] { receiver_.inbox().abandon_all(closed); });
  }
  report();
  if (thrown) std::rethrow_exception(thrown);
  return let_go;
}

TransportStats Ucx::stats() const {
  TransportStats stats = stats_;
  receiver_.add_counts(stats);
  return stats;
}

std::string Ucx::description() const {
  return fmt::format("{} checksum={}", worker_->description(), options_.checksum ? "xxh3" : "off");
}

// Shared memory copies a piece in and out through a queue between two cores: pieces that stay in their second-level
// caches take a fifth less (64 MiB both ways: 10.6 to 11.2 ms against 13.3). On tcp they would cost that much.
constexpr Bytes kSharedMemoryPiece = 256_KiB;

// A fused message is copied on both sides, and kept whole as long as one of its parts waits for its place. Larger ones
// than this save nothing any more, and a plan may say any number.
constexpr Bytes kMostFusion = 16_MiB;

Result<std::unique_ptr<Transport>> open_ucx(const std::string& name, TransportOptions options) {
  if (name == "ucx:shm") options.piece_bytes = std::min(options.piece_bytes, kSharedMemoryPiece);
  options.fusion_bytes = std::min(options.fusion_bytes, kMostFusion);
  Result<std::unique_ptr<UcxWorker>> worker = UcxWorker::open(name, options);
  if (!worker) return worker.status();
  auto transport = std::make_unique<Ucx>(options, std::move(*worker));
  CASYNC_RETURN_IF_ERROR(transport->open());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace
}  // namespace casync::runtime

extern "C" __attribute__((visibility("default"))) void CASYNC_UCX_MODULE_OPEN(
    const std::string& name, const casync::runtime::TransportOptions& options,
    casync::Result<std::unique_ptr<casync::runtime::Transport>>& result) {
  result = casync::runtime::open_ucx(name, options);
}
