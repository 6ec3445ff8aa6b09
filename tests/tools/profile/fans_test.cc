// SPDX-License-Identifier: Apache-2.0
//
// Ranks measure fans: threads over the loopback transport, or one rank with others that a test makes up.
#include "tools/casync/profile/fans.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/transport/loopback/factory.h"
#include "tests/support/idle_transport.h"

namespace casync::tools {
namespace {

constexpr Bytes kBytes = 1000;  // of a message

/// The exchange of blobs that a job's ranks have: all wait until each has given its own.
class FanMeeting {
 public:
  explicit FanMeeting(std::size_t ranks) : ranks_(ranks) {}

  std::vector<std::string> meet(Rank rank, const std::string& mine) {
    std::unique_lock lock(mutex_);
    const std::size_t round = met_[rank]++;
    if (blobs_.size() <= round) blobs_.resize(round + 1);
    blobs_[round][rank] = mine;
    all_are_here_.notify_all();
    all_are_here_.wait(lock, [&] { return blobs_[round].size() == ranks_ || is_over_; });
    std::vector<std::string> all;
    for (const auto& [from, blob] : blobs_[round]) all.push_back(blob);
    all.resize(ranks_);
    return all;
  }

  /// Nobody is waited for any more.
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    all_are_here_.notify_all();
  }

 private:
  const std::size_t ranks_;
  std::mutex mutex_;
  std::condition_variable all_are_here_;
  std::map<Rank, std::size_t> met_;
  std::vector<std::map<Rank, std::string>> blobs_;
  bool is_over_ = false;
};

/// A rank's own runs, and its patience in seconds.
struct FanRank {
  std::vector<FanRun> runs;
  double patience_s = 60;
};

/// The results by rank; the first rank that fails ends the others' meetings.
std::vector<Result<std::vector<double>>> measure_together(const std::vector<FanRank>& ranks, std::uint64_t epoch) {
  FanMeeting meeting(ranks.size());
  std::vector<Result<std::vector<double>>> results(ranks.size(), internal_error("no result"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      FanOptions options;
      options.bytes = kBytes;
      options.seconds = 1e-4;
      options.rounds = 2;
      options.patience = Seconds(ranks[i].patience_s);
      options.open = [](const std::string&, const runtime::TransportOptions& wanted) {
        return runtime::make_loopback(wanted);
      };
      const auto rank = static_cast<Rank>(i);
      const auto gather = [&](const std::string&, const std::string& mine) -> Result<std::vector<std::string>> {
        return meeting.meet(rank, mine);
      };
      const FanSide side{rank, static_cast<int>(ranks.size()), epoch, gather};
      results[i] = measure_fans(options, side, ranks[i].runs);
      if (!results[i]) meeting.end();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST_CASE("fans: every run has seconds of a message on the rank that leads it, and 0 on others") {
  const std::vector<FanRun> runs = fan_runs(1, {0, 2, 3});
  REQUIRE(runs.size() == 8);
  const auto results = measure_together(std::vector<FanRank>(4, FanRank{runs}), 8801);
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    CAPTURE(rank);
    REQUIRE(results[rank].status().text() == "OK");
    REQUIRE(results[rank]->size() == runs.size());
    for (const double seconds : *results[rank]) CHECK((rank == 1 ? seconds > 0 && seconds < 60 : seconds == 0));
  }
}

/// The network of rank 0, with others that answer at once, but for one that never does.
class OneIsSilent final : public test::IdleTransport {
 public:
  OneIsSilent(FanRun::Kind kind, Rank silent) : kind_(kind), silent_(silent) {}

  std::string address() const override { return "here"; }
  Status connect(std::span<const std::string>, runtime::TransportClient& client) override {
    client_ = &client;
    return Status::ok();
  }
  void send(Rank to, std::span<const runtime::Outgoing> outgoing) override {
    for (const runtime::Outgoing& one : outgoing) {
      left_.push_back(one.cookie);
      if (to != silent_) answer(to, one);
    }
  }
  bool progress() override {
    const auto left = std::exchange(left_, {});
    const auto arrived = std::exchange(arrived_, {});
    for (const std::uint64_t cookie : left) client_->sent(cookie, Status::ok());
    for (const auto& [from, message] : arrived) {
      client_->place(from, message);
      client_->received(from, message, Status::ok());
    }
    return !left.empty() || !arrived.empty();
  }

 private:
  enum : std::uint32_t { kGo, kData, kDone };  // the hops, as the product numbers them

  void answer(Rank from, const runtime::Outgoing& got) {
    runtime::Message message = got.message;
    if (message.key.hop == kGo) std::memcpy(&due_[from], got.payload.data, sizeof due_[from]);
    if (message.key.hop == kGo && kind_ == FanRun::Kind::kIncast) {
      message.key.hop = kData;
      message.payload_bytes = kBytes;
      for (std::uint32_t i = 0; i < due_[from]; ++i) arrived_.emplace_back(from, message);
    } else if (message.key.hop == kData && --due_[from] == 0) {
      message.key.hop = kDone;
      message.payload_bytes = sizeof(std::uint32_t);
      arrived_.emplace_back(from, message);
    }
  }

  const FanRun::Kind kind_;
  const Rank silent_;
  runtime::TransportClient* client_ = nullptr;
  std::map<Rank, std::uint32_t> due_;  ///< messages of the round, by rank
  std::vector<std::uint64_t> left_;
  std::vector<std::pair<Rank, runtime::Message>> arrived_;
};

/// The result of rank 0, which leads a run of ranks 1, 2 and 3.
Status lead_with(FanRun::Kind kind, Rank silent) {
  FanOptions options;
  options.bytes = kBytes;
  options.rounds = 1;
  options.patience = Seconds(0);  // the others answer at once, or never
  options.open = [&](const std::string&, const runtime::TransportOptions&) {
    return Result<std::unique_ptr<runtime::Transport>>(std::make_unique<OneIsSilent>(kind, silent));
  };
  const FanSide side{0, 4, 8810, [](const std::string&, const std::string& mine) {
                       return Result<std::vector<std::string>>(std::vector<std::string>(4, mine));
                     }};
  return measure_fans(options, side, {{kind, 0, {1, 2, 3}}}).status();
}

TEST_CASE("fans: a rank that does not answer is named by the one that leads") {
  for (const FanRun::Kind kind : {FanRun::Kind::kIncast, FanRun::Kind::kOutcast}) {
    CAPTURE(static_cast<int>(kind));
    for (const Rank silent : {1, 2, 3}) {
      CHECK(lead_with(kind, silent).text() == "Timeout: rank " + std::to_string(silent) + " does not answer");
    }
    CHECK(lead_with(kind, -1).text() == "OK");
  }
}

TEST_CASE("fans: a rank that does not lead is named by the one that follows") {
  const FanRank takes_no_part{{{FanRun::Kind::kIncast, 1, {}}}}, follows{{{FanRun::Kind::kIncast, 0, {1}}}, 0.1};
  CHECK(measure_together({takes_no_part, follows}, 8820)[1].status().text() == "Timeout: rank 0 does not answer");
}

TEST_CASE("fans: a transport of threads and no runs at all are refused") {
  FanOptions options;
  options.transport = "loopback";
  const FanSide side{0, 1, 8830, nullptr};
  CHECK_THAT(measure_fans(options, side, {{FanRun::Kind::kIncast, 0, {}}}).status().text(),
             Catch::StartsWith("InvalidArgument: loopback joins threads of one process; use "));
  options.transport = "ucx";
  CHECK(measure_fans(options, side, {}).status().text() == "InvalidArgument: no runs to measure");
}

}  // namespace
}  // namespace casync::tools
