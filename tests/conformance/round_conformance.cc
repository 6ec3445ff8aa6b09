// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/round_conformance.h"

#include <catch2/catch.hpp>
#include <thread>
#include <utility>

namespace casync::test {

using runtime::DeviceView;
using runtime::Memory;
using runtime::Reduction;
using runtime::RoundPiece;

namespace {

constexpr Seconds kPatience{20};
constexpr std::chrono::microseconds kLook{100};

// The time for which a rank that nobody answers is seen to wait.
constexpr double kStuck = 0.2;

/// Asks until the answer is true. Timeout.
Status until_true(const std::function<Result<bool>()>& ask, Seconds patience) {
  const Clock::time_point deadline = after(patience);
  while (true) {
    const Result<bool> answer = ask();
    if (!answer) return answer.status();
    if (*answer) return Status::ok();
    if (Clock::now() >= deadline) return timeout_error("not in time");
    std::this_thread::sleep_for(kLook);
  }
}

/// Says where `status` is not OK.
std::string bad(const char* what, const Status& status) { return status ? "" : what + (": " + status.text()); }

/// The values that `from` sends to `to` as its k-th message: no two messages are alike.
std::vector<float> message(Rank from, Rank to, int k, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(1000 * from + 100 * to + 10 * k) + static_cast<float>(i % 7);
  }
  return values;
}

/// Sizes differ by message and direction; some are empty.
std::size_t count_of(Rank from, Rank to, int k) {
  return static_cast<std::size_t>((from * 7 + to * 3 + k * 5) % 11) * 33;
}

/// Each rank sends each other one three messages in two exchanges, and nothing is waited for in between.
std::string all_to_all(RoundRank& on) {
  struct Arriving {
    Rank from;
    int k;
    RoundRank::Buffer at;
  };
  std::vector<Arriving> arriving;
  std::vector<RoundRank::Buffer> leaving;
  for (const std::vector<int>& round : {std::vector<int>{0, 1}, std::vector<int>{2}}) {
    std::vector<RoundPiece> sends, recvs;
    for (Rank peer = 0; peer < on.ranks; ++peer) {
      if (peer == on.rank) continue;
      for (const int k : round) {
        leaving.push_back(on.floats(message(on.rank, peer, k, count_of(on.rank, peer, k))));
        sends.push_back({peer, leaving.back()->device()});
        arriving.push_back({peer, k, on.floats(std::vector<float>(count_of(peer, on.rank, k)))});
        recvs.push_back({peer, arriving.back().at->device()});
      }
    }
    if (Status status = on.transport->exchange(sends, recvs); !status) return bad("exchange", status);
    if (Status status = on.queued(); !status) return bad("queued", status);
  }
  if (Status status = on.over(); !status) return bad("over", status);
  for (const Arriving& one : arriving) {
    if (on.read(one.at) == message(one.from, on.rank, one.k, count_of(one.from, on.rank, one.k))) continue;
    return "message " + std::to_string(one.k) + " of rank " + std::to_string(one.from);
  }
  return "";
}

std::string sums(RoundRank& on) {
  for (const std::size_t count : {0, 1, 63, 1000}) {
    std::vector<float> mine(count), expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (Rank rank = 0; rank < on.ranks; ++rank) {
        const float one = static_cast<float>((rank + 1) * static_cast<int>(i % 50));
        expected[i] += one;  // whole numbers: the order of additions does not matter
        if (rank == on.rank) mine[i] = one;
      }
    }
    const RoundRank::Buffer at = on.floats(mine);
    if (Status status = on.transport->all_reduce(at->device(), Reduction::kSumOfFloats); !status) {
      return bad("all_reduce", status);
    }
    if (Status status = on.queued(); !status) return bad("queued", status);
    if (Status status = on.over(); !status) return bad("over", status);
    if (on.read(at) != expected) return std::to_string(count) + " sums";
  }
  return "";
}

/// Each rank has one byte that is larger than the others'.
std::string largest_bytes(RoundRank& on) {
  const auto memory = std::move(on.device->allocate(16, Memory::kDevice)).value();
  std::vector<std::byte> bytes(16);
  bytes[static_cast<std::size_t>(on.rank)] = std::byte{200};
  bytes[15] = std::byte(on.rank);
  if (Status status = on.device->write({bytes.data(), bytes.size()}, memory->device()); !status) return status.text();
  if (Status status = on.transport->all_reduce(memory->device(), Reduction::kMostOfBytes); !status) {
    return bad("all_reduce", status);
  }
  if (Status status = on.queued(); !status) return bad("queued", status);
  if (Status status = on.over(); !status) return bad("over", status);
  if (Status status = on.device->read(memory->device(), {bytes.data(), bytes.size()}); !status) return status.text();
  for (int i = 0; i < 15; ++i) {
    if (bytes[static_cast<std::size_t>(i)] != std::byte(i < on.ranks ? 200 : 0)) return "byte " + std::to_string(i);
  }
  return bytes[15] == std::byte(on.ranks - 1) ? "" : "the last byte";
}

/// Work of the stream goes ahead of an exchange and after it.
std::string in_stream_order(RoundRank& on) {
  const Rank next = (on.rank + 1) % on.ranks, before = (on.rank + on.ranks - 1) % on.ranks;
  const auto mine = on.floats(std::vector<float>(500, -1)), sent = on.floats(message(on.rank, next, 0, 500));
  const auto arrived = on.floats(std::vector<float>(500)), kept = on.floats(std::vector<float>(500));
  const RoundPiece send{next, mine->device()}, recv{before, arrived->device()};
  if (Status status = on.stream->copy(sent->device(), mine->device()); !status) return status.text();
  if (Status status = on.transport->exchange({&send, 1}, {&recv, 1}); !status) return status.text();
  if (Status status = on.queued(); !status) return status.text();
  if (Status status = on.stream->copy(arrived->device(), kept->device()); !status) return status.text();
  if (Status status = on.stream->fill(arrived->device(), std::byte{0}); !status) return status.text();
  if (Status status = on.over(); !status) return status.text();
  return on.read(kept) == message(before, on.rank, 0, 500) ? "" : "other values";
}

/// Waits without an answer, aborts, and is at rest then.
std::string stuck_until_abort(RoundRank& on) {
  if (Status status = on.queued(); !status) return bad("queued", status);
  if (on.over(kStuck).code() != StatusCode::kTimeout) return "it is over although nobody answered";
  on.transport->abort();
  on.transport->abort();
  if (!on.transport->wait_for_abort(after(kPatience))) return "the abort does not end";
  if (Status status = until_true([&] { return on.event->done(); }, kPatience); !status) return bad("at rest", status);
  const auto one = on.floats({1});
  const Status status = on.transport->all_reduce(one->device(), Reduction::kSumOfFloats);
  return status.code() == StatusCode::kAborted ? "" : "after the abort: " + status.text();
}

std::string another_order(RoundRank& on) {
  const auto at = on.floats(std::vector<float>(10, 1));
  const RoundPiece piece{1 - on.rank, at->device()};
  const Status status = on.rank == 0 ? on.transport->all_reduce(at->device(), Reduction::kSumOfFloats)
                                     : on.transport->exchange({}, {&piece, 1});
  return status ? stuck_until_abort(on) : status.text();
}

std::string another_size(RoundRank& on) {
  const auto at = on.floats(std::vector<float>(10, 1));
  const RoundPiece piece{1 - on.rank, at->device().slice(0, on.rank == 0 ? 40 : 36)};
  const Status status =
      on.rank == 0 ? on.transport->exchange({&piece, 1}, {}) : on.transport->exchange({}, {&piece, 1});
  return status ? stuck_until_abort(on) : status.text();
}

std::string another_count(RoundRank& on) {
  const auto at = on.floats(std::vector<float>(10, 1));
  const Status status =
      on.transport->all_reduce(at->device().slice(0, on.rank == 0 ? 40 : 36), Reduction::kSumOfFloats);
  return status ? stuck_until_abort(on) : status.text();
}

std::string another_peer(RoundRank& on) {
  const auto at = on.floats(std::vector<float>(10, 1));
  const RoundPiece piece{on.rank == 2 ? 0 : 2, at->device()};
  // Rank 0 sends to rank 2, which expects rank 1's message; rank 1 sends nothing.
  if (on.rank == 1) return "";
  const RoundPiece from_one{1, at->device()};
  const Status status =
      on.rank == 0 ? on.transport->exchange({&piece, 1}, {}) : on.transport->exchange({}, {&from_one, 1});
  return status ? stuck_until_abort(on) : status.text();
}

/// One rank has ended in order; the other one expects more of it.
std::string a_rank_leaves(RoundRank& on) {
  if (on.rank == 0) return bad("close", on.transport->close(after(kPatience)));
  const auto at = on.floats(std::vector<float>(10, 1));
  const RoundPiece piece{0, at->device()};
  const Status status = on.transport->exchange({}, {&piece, 1});
  return status ? stuck_until_abort(on) : status.text();
}

/// A close with something under way that nobody answers.
std::string late_close(RoundRank& on) {
  if (on.rank == 0) return "";
  const auto at = on.floats(std::vector<float>(10, 1));
  const RoundPiece piece{0, at->device()};
  if (Status status = on.transport->exchange({}, {&piece, 1}); !status) return status.text();
  if (Status status = on.queued(); !status) return bad("queued", status);
  const Status closed = on.transport->close(after(Seconds(kStuck)));
  if (closed.code() != StatusCode::kTimeout) return "close: " + closed.text();
  return on.transport->wait_for_abort(after(kPatience)) ? bad("over", on.over()) : "the abort does not end";
}

}  // namespace

RoundRank::Buffer RoundRank::floats(const std::vector<float>& values) {
  Buffer buffer = std::move(device->allocate(values.size() * sizeof(float), Memory::kDevice)).value();
  const ConstView bytes{reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)};
  return device->write(bytes, buffer->device()) ? std::move(buffer) : nullptr;
}

std::vector<float> RoundRank::read(const Buffer& buffer) {
  std::vector<float> values(buffer->device().size() / sizeof(float));
  const View to{reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
  return device->read(buffer->device(), to) ? values : std::vector<float>();
}

Status RoundRank::queued() {
  return until_true([&] { return transport->poll(); }, kPatience);
}

Status RoundRank::over(double seconds) {
  CASYNC_RETURN_IF_ERROR(stream->record(*event));
  return until_true([&] { return event->done(); }, Seconds(seconds));
}

std::string run_rounds(const RoundNetwork& network, int ranks, const std::function<std::string(RoundRank&)>& body) {
  const OpenRound open = network.open_job(ranks);
  std::vector<RoundRank> all(static_cast<std::size_t>(ranks));
  std::vector<std::string> complaints(all.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < all.size(); ++r) {
    threads.emplace_back([&, r] {
      RoundRank& one = all[r];
      one.rank = static_cast<Rank>(r);
      one.ranks = ranks;
      one.device = network.open_device();
      one.stream = std::move(one.device->make_stream(false)).value();
      one.event = std::move(one.device->make_event()).value();
      auto transport = open(one.rank, ranks, *one.stream);
      if (transport) one.transport = std::move(*transport);
      complaints[r] = transport ? body(one) : "open: " + transport.status().text();
    });
  }
  std::string complaint;
  for (std::size_t r = 0; r < all.size(); ++r) {
    threads[r].join();
    if (!complaints[r].empty()) complaint += "rank " + std::to_string(r) + ": " + complaints[r] + "\n";
  }
  for (RoundRank& one : all) one.transport.reset();
  return complaint;
}

void check_round_transport(const RoundNetwork& network) {
  for (const int ranks : {1, 2, 3, 5}) {
    CAPTURE(ranks);
    CHECK(run_rounds(network, ranks, all_to_all) == "");
    CHECK(run_rounds(network, ranks, sums) == "");
    CHECK(run_rounds(network, ranks, largest_bytes) == "");
    if (ranks > 1) CHECK(run_rounds(network, ranks, in_stream_order) == "");
    CHECK(run_rounds(network, ranks,
                     [](RoundRank& on) { return bad("close", on.transport->close(after(kPatience))); }) == "");
  }
  CHECK(run_rounds(network, 2, another_order) == "");
  CHECK(run_rounds(network, 2, another_size) == "");
  CHECK(run_rounds(network, 2, another_count) == "");
  CHECK(run_rounds(network, 3, another_peer) == "");
  CHECK(run_rounds(network, 2, a_rank_leaves) == "");
  CHECK(run_rounds(network, 2, late_close) == "");
}

}  // namespace casync::test
