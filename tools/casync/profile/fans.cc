// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/fans.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include "runtime/transport/transport.h"

namespace casync::tools {
namespace {

using runtime::Message;
using runtime::MessageKey;
using runtime::Outgoing;
using runtime::Placement;
using runtime::Transport;
using runtime::TransportOptions;

constexpr std::uint64_t kUnderWay = 8;       // messages of one peer
constexpr std::uint32_t kTrial = 2;          // messages of each peer ahead of a run's first round
constexpr double kFewest = 4, kMost = 1024;  // of each peer in a round

enum Hop : std::uint32_t { kGo, kData, kDone, kHops };

/// The messages between this rank and another one.
struct FanPeer {
  std::uint64_t under_way = 0;  ///< to it, and they have not left
  std::uint64_t arrived[kHops] = {}, expected[kHops] = {};

  bool lacks(Hop hop) const { return arrived[hop] < expected[hop]; }
};

/// The state of a run, on the rank that leads it.
struct Led {
  std::uint32_t count = 0;                                 ///< messages of each peer in the next round
  double least = std::numeric_limits<double>::infinity();  ///< seconds of a message
};

/// This rank's part in all runs. The root begins every round with the number of messages that each peer sends or gets.
class FanEnd final : public runtime::TransportClient {
 public:
  FanEnd(const FanOptions& options, const FanSide& side)
      : options_(options),
        side_(side),
        out_(options.bytes, std::byte{1}),
        in_(options.bytes),
        peers_(static_cast<std::size_t>(side.ranks)) {}

  Status open() {
    TransportOptions wanted;
    wanted.rank = side_.rank;
    wanted.ranks = side_.ranks;
    wanted.epoch = side_.epoch;
    wanted.interface_name = options_.interface_name;
    auto transport = options_.open(options_.transport, wanted);
    const Result<std::vector<std::string>> addresses =
        side_.gather("addresses", transport ? (*transport)->address() : std::string());
    CASYNC_RETURN_IF_ERROR(transport.status());
    CASYNC_RETURN_IF_ERROR(addresses.status());
    const auto missing = std::find(addresses->begin(), addresses->end(), std::string());
    if (missing != addresses->end()) {
      return peer_failure("rank " + std::to_string(missing - addresses->begin()) + " could not open the transport");
    }
    transport_ = std::move(*transport);
    return transport_->connect(*addresses, *this);
  }

  /// One round of a run; the first one follows a trial. On the rank that leads the run, updates `led`.
  Status run(const FanRun& run, bool first, Led& led) {
    if (side_.rank == run.root) return lead(run, first, led);
    if (std::find(run.peers.begin(), run.peers.end(), side_.rank) == run.peers.end()) return Status::ok();
    if (first) CASYNC_RETURN_IF_ERROR(follow(run));
    return follow(run);
  }

  void close() { transport_->close(after(Seconds(5))); }

 private:
  Placement place(Rank, const Message& message) override {
    if (message.key.hop == kData && message.payload_bytes == in_.size())
      return Placement::here({in_.data(), in_.size()});
    if (message.key.hop != kData && message.payload_bytes == sizeof count_) return Placement::here(count_view());
    return Placement::refuse(data_loss("a message that nobody sends"));
  }
  void received(Rank from, const Message& message, Status status) override {
    keep(std::move(status));
    if (message.key.hop < kHops) ++peer(from).arrived[message.key.hop];
  }
  void sent(std::uint64_t to, Status status) override {
    --peer(static_cast<Rank>(to)).under_way;
    keep(std::move(status));
  }
  void failed(Rank, Status status) override { keep(std::move(status)); }

  void keep(Status status) {
    if (status_.is_ok() && !status.is_ok()) status_ = std::move(status);
  }
  FanPeer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }
  View count_view() { return {reinterpret_cast<std::byte*>(&count_), sizeof count_}; }

  void send(Rank to, Hop hop, std::uint32_t partition, ConstView payload) {
    Outgoing out;
    out.message.key = MessageKey{static_cast<std::uint64_t>(side_.rank) + 1, round_, partition, hop};
    out.message.elements = out.message.payload_bytes = payload.size;
    out.payload = payload;
    out.cookie = static_cast<std::uint64_t>(to);
    ++peer(to).under_way;
    transport_->send(to, {&out, 1});
  }

  /// Waits until none of `peers` is late. Timeout: names the first one that is.
  template <class IsLate>
  Status until_none(std::span<const Rank> peers, const IsLate& is_late) {
    const Clock::time_point deadline = after(options_.patience);
    while (status_.is_ok()) {
      const auto late = std::find_if(peers.begin(), peers.end(), [&](Rank rank) { return is_late(peer(rank)); });
      if (late == peers.end()) break;
      if (transport_->progress()) continue;
      if (Clock::now() > deadline) return timeout_error("rank " + std::to_string(*late) + " does not answer");
      transport_->wait(deadline);
    }
    return status_;
  }
  Status until_all_left(std::span<const Rank> peers) {
    return until_none(peers, [](const FanPeer& to) { return to.under_way > 0; });
  }

  /// Sends to each of `peers` in turn, with at most kUnderWay messages under way to each.
  Status send_data(const std::vector<Rank>& peers, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      for (const Rank to : peers) {
        CASYNC_RETURN_IF_ERROR(until_none({&to, 1}, [](const FanPeer& one) { return one.under_way >= kUnderWay; }));
        send(to, kData, i, {out_.data(), out_.size()});
      }
    }
    return Status::ok();
  }

  Status lead(const FanRun& run, bool first, Led& led) {
    const auto messages = [&] { return static_cast<double>(run.peers.size()) * led.count; };
    const auto fit = [&](double each) {
      const double count = options_.seconds / (each * static_cast<double>(run.peers.size()));
      led.count = static_cast<std::uint32_t>(std::clamp(count, kFewest, kMost));
    };
    if (first) {
      led.count = kTrial;
      const Result<double> trial = lead_round(run, led.count);
      CASYNC_RETURN_IF_ERROR(trial.status());
      fit(*trial / messages());
    }
    const Result<double> seconds = lead_round(run, led.count);
    CASYNC_RETURN_IF_ERROR(seconds.status());
    led.least = std::min(led.least, *seconds / messages());
    fit(led.least);
    return Status::ok();
  }

  Result<double> lead_round(const FanRun& run, std::uint32_t count) {
    const Clock::time_point begin = Clock::now();
    const bool sends = run.kind == FanRun::Kind::kOutcast;
    ++round_;
    told_ = count;
    for (const Rank to : run.peers) send(to, kGo, 0, {reinterpret_cast<std::byte*>(&told_), sizeof told_});
    if (sends) CASYNC_RETURN_IF_ERROR(send_data(run.peers, count));
    for (const Rank from : run.peers) peer(from).expected[sends ? kDone : kData] += sends ? 1 : count;
    CASYNC_RETURN_IF_ERROR(
        until_none(run.peers, [](const FanPeer& from) { return from.lacks(kData) || from.lacks(kDone); }));
    const double seconds = Seconds(Clock::now() - begin).count();
    CASYNC_RETURN_IF_ERROR(until_all_left(run.peers));
    return seconds;
  }

  Status follow(const FanRun& run) {
    const std::vector<Rank> root = {run.root};
    FanPeer& leader = peer(run.root);
    ++round_;
    ++leader.expected[kGo];
    CASYNC_RETURN_IF_ERROR(until_none(root, [](const FanPeer& from) { return from.lacks(kGo); }));
    const std::uint32_t count = count_;
    if (run.kind == FanRun::Kind::kIncast) {
      CASYNC_RETURN_IF_ERROR(send_data(root, count));
    } else {
      leader.expected[kData] += count;
      CASYNC_RETURN_IF_ERROR(until_none(root, [](const FanPeer& from) { return from.lacks(kData); }));
      send(run.root, kDone, 0, {reinterpret_cast<std::byte*>(&told_), sizeof told_});
    }
    return until_all_left(root);
  }

  const FanOptions& options_;
  const FanSide& side_;
  std::vector<std::byte> out_, in_;  ///< the same bytes in all messages: they may arrive at the same place
  std::vector<FanPeer> peers_;       ///< by rank
  std::unique_ptr<Transport> transport_;
  Status status_;
  std::uint32_t round_ = 0;             ///< with the sender's rank, names each message
  std::uint32_t count_ = 0, told_ = 0;  ///< as a root has said, and says
};

}  // namespace

Result<std::vector<double>> measure_fans(const FanOptions& options, const FanSide& side,
                                         const std::vector<FanRun>& runs) {
  CASYNC_RETURN_IF_ERROR(runtime::check_joins_processes(options.transport));
  if (runs.empty()) return invalid_argument("no runs to measure");
  FanEnd end(options, side);
  CASYNC_RETURN_IF_ERROR(end.open());
  std::vector<Led> led(runs.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      CASYNC_RETURN_IF_ERROR(end.run(runs[i], round == 0, led[i]));
      CASYNC_RETURN_IF_ERROR(side.gather("a fan's end", "").status());
    }
  }
  std::vector<double> made;
  for (std::size_t i = 0; i < runs.size(); ++i) made.push_back(side.rank == runs[i].root ? led[i].least : 0);
  end.close();
  return made;
}

}  // namespace casync::tools
