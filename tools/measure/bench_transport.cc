// SPDX-License-Identifier: Apache-2.0
#include "tools/measure/bench_transport.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/median.h"
#include "runtime/executor/link_pace.h"
#include "runtime/transport/transport.h"

namespace casync {
namespace {

using runtime::Message;
using runtime::MessageKey;
using runtime::Outgoing;
using runtime::Placement;
using runtime::Transport;
using runtime::TransportOptions;

constexpr Seconds kPatience{20};         // for the partner
constexpr Bytes kExchangePiece = 1_MiB;  // of the exchange
constexpr Bytes kUnderWay = 8;           // messages, in the bandwidth measurement
constexpr Bytes kCold = 64_MiB;          // more than caches hold: what a gradient comes from, and goes to
constexpr std::uint32_t kMaxRounds = 100'000;

enum ProbeHop : std::uint32_t { kPing, kStream, kStreamDone, kScatter, kGather, kCount };

// One side of the measurement: buffers, and counts of the messages that have arrived.
class Side final : public runtime::TransportClient {
 public:
  /// Messages of a stream lie one after the other if the buffers have room for more than the largest.
  Side(Rank rank, Bytes room) : rank_(rank), out_(room, std::byte{1}), in_(room) {}

  Status open(const TransportBenchOptions& bench, const TransportBenchSide& side);
  Status ping(Bytes bytes, double& us, double& least_us, double seconds);
  Status stream(TransportBenchRow& row, double seconds);
  Status both_ways(TransportBenchRow& row, double seconds);
  Status exchange(Bytes bytes, double& ms, double& least_ms, double seconds);
  /// Ends when the partner has all messages: it may leave at once then, and over shared memory nothing tells that it
  /// did.
  void close();
  std::string description() const { return transport_->description(); }
  Bytes announced_bytes() const { return transport_->announced_bytes(1 - rank_); }

 private:
  Placement place(Rank, const Message& message) override;
  void received(Rank, const Message& message, Status status) override;
  void sent(std::uint64_t bytes, Status status) override;
  void failed(Rank, Status status) override { keep(std::move(status)); }

  void keep(Status status) {
    if (status_.is_ok() && !status.is_ok()) status_ = std::move(status);
  }
  /// The offset of a stream's message on both sides.
  Bytes of_stream(std::uint32_t round, Bytes bytes) const { return round % (in_.size() / bytes) * bytes; }
  void send(ProbeHop hop, std::uint32_t partition, ConstView payload);
  Status until(const std::function<bool()>& done);
  Status both_agree_on(std::uint32_t& rounds, double least_s, double seconds);
  Status ping_once(ConstView payload);
  Status agree_on_stream(std::uint32_t& rounds, Bytes bytes, double seconds);
  Status send_stream(std::uint32_t rounds, Bytes bytes);
  Status exchange_once(Bytes bytes);

  Rank rank_;
  std::vector<std::byte> out_, in_;
  std::unique_ptr<Transport> transport_;
  runtime::LinkPace pace_;  ///< says, as in a session, which messages leave unasked
  Status status_;
  std::uint32_t step_ = 0;  // names each message; both sides count alike
  std::uint64_t sent_ = 0, posted_ = 0;
  std::uint64_t arrived_[kCount] = {};
  std::uint64_t pings_ = 0, streams_ = 0, stream_ends_ = 0, gathers_ = 0;  // to have arrived so far
  Bytes exchange_bytes_ = 0;                                               // of one half
};

Bytes message_bytes(const Message& message) { return message.payload_bytes; }

Status Side::open(const TransportBenchOptions& bench, const TransportBenchSide& side) {
  TransportOptions options;
  options.rank = rank_;
  options.ranks = 2;
  options.epoch = side.epoch;
  options.interface_name = bench.interface_name;
  options.checksum = bench.checksum;
  options.piece_bytes = bench.piece_bytes;
  if (bench.processor_time) options.spin = std::chrono::microseconds(0);
  auto transport = runtime::make_transport(bench.transport, options);
  std::string mine = transport ? (*transport)->address() : std::string();
  Result<std::string> theirs = side.swap_addresses(mine);
  if (!transport) return transport.status();
  if (!theirs) return theirs.status();
  if (theirs->empty()) return peer_failure("the partner process could not open the transport");
  transport_ = std::move(*transport);
  std::vector<std::string> addresses = {std::move(mine), std::move(*theirs)};
  if (rank_ == 1) std::swap(addresses[0], addresses[1]);
  return transport_->connect(addresses, *this);
}

// Half of a vector lies in `in_`, by partition, both when it arrives to be reduced and when it arrives reduced.
Placement Side::place(Rank, const Message& message) {
  const bool exchange = message.key.hop == kScatter || message.key.hop == kGather;
  Bytes offset = 0;
  if (exchange) offset = message.key.partition * kExchangePiece + (message.key.hop == kGather ? exchange_bytes_ : 0);
  if (message.key.hop == kStream) offset = of_stream(message.key.partition, message_bytes(message));
  if (exchange && message.key.step > step_) return Placement::later();  // the partner is one round ahead
  if (offset > in_.size() || message_bytes(message) > in_.size() - offset) {
    return Placement::refuse(data_loss("a message that nobody sends"));
  }
  return Placement::here({in_.data() + offset, message_bytes(message)});
}

void Side::received(Rank, const Message& message, Status status) {
  keep(std::move(status));
  ++arrived_[message.key.hop];
  if (message.key.hop != kScatter) return;
  const Bytes offset = message.key.partition * kExchangePiece;
  send(kGather, message.key.partition, {in_.data() + offset, message_bytes(message)});
}

void Side::sent(std::uint64_t bytes, Status status) {
  ++sent_;
  pace_.sent(bytes, Clock::now());
  keep(std::move(status));
}

void Side::send(ProbeHop hop, std::uint32_t partition, ConstView payload) {
  Outgoing out;
  out.message.key = MessageKey{.gradient = 1, .step = step_, .partition = partition, .hop = hop};
  out.message.elements = payload.size;
  out.message.payload_bytes = payload.size;
  out.payload = payload;
  out.cookie = payload.size;
  out.unasked = !pace_.is_fast();
  pace_.handed_over(payload.size, Clock::now());
  ++posted_;
  transport_->send(1 - rank_, {&out, 1});
}

Status Side::until(const std::function<bool()>& done) {
  const Clock::time_point deadline = after(kPatience);
  while (!done() && status_.is_ok()) {
    if (transport_->progress()) continue;
    if (Clock::now() > deadline) return timeout_error("the partner process does not answer");
    transport_->wait(deadline);
  }
  return status_;
}

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Rank 0 tells the number of rounds, as the number of a partition.
Status Side::both_agree_on(std::uint32_t& rounds, double least_s, double seconds) {
  const auto wanted =
      static_cast<std::uint32_t>(std::clamp(seconds / std::max(least_s, 1e-7), 5.0, double{kMaxRounds}));
  std::byte wire[4] = {};
  if (rank_ == 0) std::memcpy(wire, &wanted, 4);
  ++step_;
  ++pings_;
  if (rank_ == 0) {
    send(kPing, 0, {wire, 4});
    CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kPing] >= pings_ && sent_ == posted_; }));
  } else {
    CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kPing] >= pings_; }));
    std::memcpy(wire, in_.data(), 4);
    send(kPing, 0, {wire, 4});
    CASYNC_RETURN_IF_ERROR(until([&] { return sent_ == posted_; }));
  }
  std::memcpy(&rounds, wire, 4);
  return Status::ok();
}

Status Side::ping_once(ConstView payload) {
  ++pings_;
  ++step_;
  if (rank_ == 0) send(kPing, 0, payload);
  CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kPing] >= pings_; }));
  if (rank_ == 1) send(kPing, 0, payload);
  return until([&] { return sent_ == posted_; });
}

Status Side::ping(Bytes bytes, double& us, double& least_us, double seconds) {
  const ConstView payload{out_.data(), bytes};
  std::uint32_t rounds = 0;
  for (int i = 0; i < 3; ++i) CASYNC_RETURN_IF_ERROR(ping_once(payload));
  const Clock::time_point trial = Clock::now();
  CASYNC_RETURN_IF_ERROR(ping_once(payload));
  CASYNC_RETURN_IF_ERROR(both_agree_on(rounds, us_since(trial) / 1e6, seconds));
  std::vector<double> times;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const Clock::time_point start = Clock::now();
    CASYNC_RETURN_IF_ERROR(ping_once(payload));
    times.push_back(us_since(start) / 2);
  }
  least_us = *std::min_element(times.begin(), times.end());
  us = median(times);
  return Status::ok();
}

/// Processor seconds of all threads of this process, including the kernel's work for them.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Chooses the number of messages that take so many seconds, by one that goes there and back.
Status Side::agree_on_stream(std::uint32_t& rounds, Bytes bytes, double seconds) {
  const Clock::time_point trial = Clock::now();
  CASYNC_RETURN_IF_ERROR(ping_once({out_.data(), bytes}));
  return both_agree_on(rounds, us_since(trial) / 2e6, seconds);
}

Status Side::send_stream(std::uint32_t rounds, Bytes bytes) {
  for (std::uint32_t round = 0; round < rounds; ++round) {
    ++step_;
    CASYNC_RETURN_IF_ERROR(until([&] { return posted_ - sent_ < kUnderWay; }));
    send(kStream, round, {out_.data() + of_stream(round, bytes), bytes});
  }
  return Status::ok();
}

Status Side::stream(TransportBenchRow& row, double seconds) {
  std::uint32_t rounds = 0;
  CASYNC_RETURN_IF_ERROR(agree_on_stream(rounds, row.bytes, seconds));
  const Clock::time_point start = Clock::now();
  const double processor_before = processor_seconds();
  double mine = 0;
  const auto take_mine = [&] { mine = (processor_seconds() - processor_before) / rounds; };
  if (rank_ == 1) streams_ += rounds;
  if (rank_ == 0) {
    CASYNC_RETURN_IF_ERROR(send_stream(rounds, row.bytes));
    ++stream_ends_;
    CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kStreamDone] >= stream_ends_; }));
    take_mine();
    std::memcpy(&row.receive_processor_s, in_.data(), sizeof mine);
    row.send_processor_s = mine;
  } else {
    CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kStream] >= streams_; }));
    step_ += rounds;
    take_mine();
    send(kStreamDone, 0, {reinterpret_cast<const std::byte*>(&mine), sizeof mine});
  }
  CASYNC_RETURN_IF_ERROR(until([&] { return sent_ == posted_; }));
  const double gib = static_cast<double>(row.bytes) / static_cast<double>(1_MiB * 1024);
  row.bandwidth_gib_s = gib * rounds / (us_since(start) * 1e-6);
  return Status::ok();
}

void Side::close() {
  transport_->settle();
  static_cast<void>(until([&] { return transport_->settled(); }));
  transport_->close(after(Seconds(5)));
}

/// A stream each way at once.
Status Side::both_ways(TransportBenchRow& row, double seconds) {
  std::uint32_t rounds = 0;
  CASYNC_RETURN_IF_ERROR(agree_on_stream(rounds, row.bytes, seconds));
  const double before = processor_seconds();
  streams_ += rounds;
  CASYNC_RETURN_IF_ERROR(send_stream(rounds, row.bytes));
  CASYNC_RETURN_IF_ERROR(until([&] { return arrived_[kStream] >= streams_ && sent_ == posted_; }));
  row.both_processor_s = (processor_seconds() - before) / rounds;
  return Status::ok();
}

Status Side::exchange_once(Bytes bytes) {
  exchange_bytes_ = bytes / 2;
  ++step_;
  transport_->retry_held();
  const Bytes messages = ceil_div(exchange_bytes_, kExchangePiece);
  gathers_ += messages;
  for (Bytes m = 0; m < messages; ++m) {
    const Bytes offset = m * kExchangePiece;
    send(kScatter, static_cast<std::uint32_t>(m),
         {out_.data() + offset, std::min(kExchangePiece, exchange_bytes_ - offset)});
  }
  return until([&] { return arrived_[kGather] >= gathers_ && sent_ == posted_; });
}

Status Side::exchange(Bytes bytes, double& ms, double& least_ms, double seconds) {
  if (bytes < 2) return Status::ok();
  std::uint32_t rounds = 0;
  for (int i = 0; i < 3; ++i) CASYNC_RETURN_IF_ERROR(exchange_once(bytes));
  const Clock::time_point trial = Clock::now();
  CASYNC_RETURN_IF_ERROR(exchange_once(bytes));
  CASYNC_RETURN_IF_ERROR(both_agree_on(rounds, us_since(trial) / 1e6, seconds));
  std::vector<double> times;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const Clock::time_point start = Clock::now();
    CASYNC_RETURN_IF_ERROR(exchange_once(bytes));
    times.push_back(us_since(start) / 1e3);
  }
  least_ms = *std::min_element(times.begin(), times.end());
  ms = median(times);
  return Status::ok();
}

/// Swaps two texts through a socket between parent and child.
Result<std::string> swap_through(int socket, const std::string& mine) {
  // An empty packet would be the end of the stream.
  const std::string packet = mine + '\n';
  std::string theirs(4_KiB + 1, '\0');
  if (::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return internal_error(std::strerror(errno));
  const ssize_t got = recv(socket, theirs.data(), theirs.size(), 0);
  if (got <= 0) return std::string();
  theirs.resize(static_cast<std::size_t>(got) - 1);
  return theirs;
}

}  // namespace

Result<TransportBench> bench_transport(const TransportBenchOptions& options, const TransportBenchSide& side) {
  CASYNC_RETURN_IF_ERROR(runtime::check_joins_processes(options.transport));
  if (options.sizes.empty()) return invalid_argument("no message sizes to measure");
  const Bytes largest = std::max<Bytes>(*std::max_element(options.sizes.begin(), options.sizes.end()), sizeof(double));
  Side measured(side.rank, options.processor_time ? std::max(largest, kCold) : largest);
  TransportBench result;
  CASYNC_RETURN_IF_ERROR(measured.open(options, side));
  result.description = measured.description();
  result.announced_bytes = measured.announced_bytes();
  for (Bytes bytes : options.sizes) {
    TransportBenchRow row{.bytes = bytes};
    if (options.processor_time) {
      CASYNC_RETURN_IF_ERROR(measured.stream(row, options.seconds_per_size));
      CASYNC_RETURN_IF_ERROR(measured.both_ways(row, options.seconds_per_size));
      result.rows.push_back(row);
      continue;
    }
    CASYNC_RETURN_IF_ERROR(measured.ping(bytes, row.latency_us, row.latency_least_us, options.seconds_per_size));
    CASYNC_RETURN_IF_ERROR(measured.stream(row, options.seconds_per_size));
    CASYNC_RETURN_IF_ERROR(measured.exchange(bytes, row.exchange_ms, row.exchange_least_ms, options.seconds_per_size));
    result.rows.push_back(row);
  }
  measured.close();
  return result;
}

Result<TransportBench> bench_transport(const TransportBenchOptions& options) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return unavailable(fmt::format("socketpair: {}", std::strerror(errno)));
  }
  const timeval patience{static_cast<time_t>(kPatience.count()), 0};
  for (const int socket : sockets) {
    if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
      return unavailable(fmt::format("setsockopt: {}", std::strerror(errno)));
    }
  }
  const auto side = [&](Rank rank, pid_t parent) {
    const int socket = sockets[rank];
    return TransportBenchSide{rank, static_cast<std::uint64_t>(parent),
                              [socket](const std::string& mine) { return swap_through(socket, mine); }};
  };
  const pid_t child = fork();
  if (child < 0) return unavailable(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    ::close(sockets[0]);
    try {
      _exit(bench_transport(options, side(1, getppid())) ? 0 : 1);
    } catch (const std::bad_alloc&) {  // the parent says so, for messages are as large on its side
      _exit(1);
    }
  }
  ::close(sockets[1]);
  Result<TransportBench> result = bench_transport(options, side(0, getpid()));
  ::close(sockets[0]);
  if (!result) ::kill(child, SIGKILL);  // it would wait for this process until its transport's deadline
  waitpid(child, nullptr, 0);
  return result;
}

}  // namespace casync
