// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/fans.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "runtime/transport/transport.h"

namespace casync::tools {
namespace {

using runtime::Message;
using runtime::MessageKey;
using runtime::Outgoing;
using runtime::Placement;
using runtime::Transport;
using runtime::TransportOptions;

constexpr Seconds kFanPatience{20};          // for the other ranks
constexpr std::uint64_t kUnderWay = 8;       // messages of one peer
constexpr std::uint32_t kTrial = 2;          // messages of each peer ahead of a run's first round
constexpr double kFewest = 4, kMost = 1024;  // of each peer in a round

enum Hop : std::uint32_t { kGo, kData, kDone, kHops };

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
        under_way_(static_cast<std::size_t>(side.ranks)) {}

  Status open() {
    TransportOptions wanted;
    wanted.rank = side_.rank;
    wanted.ranks = side_.ranks;
    wanted.epoch = side_.epoch;
    wanted.interface_name = options_.interface_name;
    auto transport = runtime::make_transport(options_.transport, wanted);
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
  void received(Rank, const Message& message, Status status) override {
    keep(std::move(status));
    if (message.key.hop < kHops) ++arrived_[message.key.hop];
  }
  void sent(std::uint64_t peer, Status status) override {
    --under_way_[peer];
    keep(std::move(status));
  }
  void failed(Rank, Status status) override { keep(std::move(status)); }

  void keep(Status status) {
    if (status_.is_ok() && !status.is_ok()) status_ = std::move(status);
  }
  View count_view() { return {reinterpret_cast<std::byte*>(&count_), sizeof count_}; }

  void send(Rank to, Hop hop, std::uint32_t partition, ConstView payload) {
    Outgoing out;
    out.message.key = MessageKey{static_cast<std::uint64_t>(side_.rank) + 1, round_, partition, hop};
    out.message.elements = out.message.payload_bytes = payload.size;
    out.payload = payload;
    out.cookie = static_cast<std::uint64_t>(to);
    ++under_way_[out.cookie];
    transport_->send(to, {&out, 1});
  }

  template <class Done>
  Status until(const Done& done) {
    const Clock::time_point deadline = after(kFanPatience);
    while (!done() && status_.is_ok()) {
      if (transport_->progress()) continue;
      if (Clock::now() > deadline) return timeout_error("another rank does not answer");
      transport_->wait(deadline);
    }
    return status_;
  }
  Status until_all_left() {
    return until([&] { return std::all_of(under_way_.begin(), under_way_.end(), [](auto n) { return n == 0; }); });
  }

  /// Sends to each of `peers` in turn, with at most kUnderWay messages under way to each.
  Status send_data(const std::vector<Rank>& peers, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      for (const Rank peer : peers) {
        CASYNC_RETURN_IF_ERROR(until([&] { return under_way_[static_cast<std::size_t>(peer)] < kUnderWay; }));
        send(peer, kData, i, {out_.data(), out_.size()});
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
    const auto peers = static_cast<std::uint64_t>(run.peers.size());
    ++round_;
    told_ = count;
    for (const Rank peer : run.peers) send(peer, kGo, 0, {reinterpret_cast<std::byte*>(&told_), sizeof told_});
    if (run.kind == FanRun::Kind::kOutcast) {
      CASYNC_RETURN_IF_ERROR(send_data(run.peers, count));
      expected_[kDone] += peers;
    } else {
      expected_[kData] += peers * count;
    }
    CASYNC_RETURN_IF_ERROR(
        until([&] { return arrived_[kData] >= expected_[kData] && arrived_[kDone] >= expected_[kDone]; }));
    const double seconds = Seconds(Clock::now() - begin).count();
    CASYNC_RETURN_IF_ERROR(until_all_left());
    return seconds;
  }

  Status follow(const FanRun& run) {
    ++round_;
    ++expected_[kGo];
    CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kGo] >= expected_[kGo]; }));
    const std::uint32_t count = count_;
    if (run.kind == FanRun::Kind::kIncast) {
      CASYNC_RETURN_IF_ERROR(send_data({run.root}, count));
    } else {
      expected_[kData] += count;
      CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kData] >= expected_[kData]; }));
      send(run.root, kDone, 0, {reinterpret_cast<std::byte*>(&told_), sizeof told_});
    }
    return until_all_left();
  }

  const FanOptions& options_;
  const FanSide& side_;
  std::vector<std::byte> out_, in_;       ///< the same bytes in all messages: they may arrive at the same place
  std::vector<std::uint64_t> under_way_;  ///< messages to each rank that have not left
  std::unique_ptr<Transport> transport_;
  Status status_;
  std::uint32_t round_ = 0;             ///< with the sender's rank, names each message
  std::uint32_t count_ = 0, told_ = 0;  ///< as a root has said, and says
  std::uint64_t arrived_[kHops] = {}, expected_[kHops] = {};
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
