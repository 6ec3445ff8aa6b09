// SPDX-License-Identifier: Apache-2.0
//
// Two ranks over UCX in this thread: how many wire messages leave, and a client that throws.
#include <time.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/transport/transport.h"
#include "tests/environment/scoped_variable.h"
#include "tests/runtime/transport/connected.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// A client that takes what comes and throws where it is told to.
struct Client : TransportClient {
  std::vector<std::byte> memory = std::vector<std::byte>(4_MiB);
  Bytes used = 0;
  std::size_t received_count = 0, sent_count = 0;
  bool throws_when_asked = false, throws_when_told = false, throws_when_sent = false, puts_off = false;
  std::size_t asked = 0;
  std::vector<Status> failures;

  Placement place(Rank, const Message& message) override {
    if (throws_when_asked) throw std::bad_alloc();
    ++asked;
    if (puts_off) return Placement::later();
    const View view{memory.data() + used, message.payload_bytes};
    used += message.payload_bytes;
    return Placement::here(view);
  }
  void received(Rank, const Message&, Status status) override {
    received_count += status.is_ok();
    if (throws_when_told) throw std::bad_alloc();
  }
  void sent(std::uint64_t, Status) override {
    ++sent_count;
    if (throws_when_sent) throw std::bad_alloc();
  }
  // Returns true if the received bytes are those of Pair::payload.
  bool memory_is_whole() const {
    return used != 0 && std::all_of(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(used),
                                    [](std::byte byte) { return byte == std::byte{0x5a}; });
  }
  void failed(Rank, Status status) override { failures.push_back(std::move(status)); }
};

struct Pair {
  std::array<Client, 2> clients;
  Transports<2> transports;
  std::uint32_t sent = 0;
  std::vector<std::byte> payload = std::vector<std::byte>(4_MiB, std::byte{0x5a});

  explicit Pair(Bytes fusion_bytes = 64_KiB, Bytes held_bytes = 128_MiB, const char* name = "ucx:tcp") {
    TransportOptions options{.epoch = 0x7a12};
    options.fusion_bytes = fusion_bytes;
    options.held_bytes = held_bytes;
    transports = connected(name, options, clients);
  }

  // Sends from rank 0 to rank 1, in one call.
  void send(const std::vector<Bytes>& sizes, bool unasked = false) {
    std::vector<Outgoing> outgoing;
    for (Bytes size : sizes) {
      Outgoing& out = outgoing.emplace_back();
      out.message.key = {.gradient = 1, .partition = sent++};
      out.message.payload_bytes = size;
      out.payload = {payload.data(), size};
      out.unasked = unasked;
    }
    transports[0]->send(1, outgoing);
  }

  template <class Done>
  bool until(Done done) {
    return progress_until(transports, done);
  }
};

}  // namespace

TEST_CASE("ucx: messages sent together leave in as few wire messages as they fit") {
  struct Row {
    std::vector<Bytes> sizes;
    std::uint64_t wire_messages;
  };
  const std::vector<Row> rows = {
      {std::vector<Bytes>(64, 1_KiB), 1},        // headers do not count
      {std::vector<Bytes>(65, 1_KiB), 2},        // one more
      {std::vector<Bytes>(200, 1_KiB), 4},       // not 200
      {{1_KiB, 1_KiB, 1_MiB, 1_KiB, 1_KiB}, 3},  // large ones travel alone, in their turn
      {{60_KiB, 60_KiB}, 2},
      {{10}, 1},
      {std::vector<Bytes>(5000, 0), 5},  // each with 1,024 headers: a longer one would be dropped
  };
  for (const Row& row : rows) {
    Pair pair;
    pair.send(row.sizes);
    INFO(row.sizes.size() << " messages, first of " << row.sizes[0]);
    CHECK(pair.until([&] {
      return pair.clients[1].received_count == row.sizes.size() && pair.clients[0].sent_count == row.sizes.size();
    }));
    CHECK(pair.transports[0]->stats().messages_sent == row.wire_messages);
    CHECK(pair.transports[1]->stats().messages_received == row.wire_messages);
    CHECK(pair.transports[0]->stats().payload_bytes_sent == pair.transports[1]->stats().payload_bytes_received);
  }
}

TEST_CASE("ucx: messages larger than a piece arrive fused, too") {
  Pair pair(4_MiB);
  pair.send({1200_KiB, 1500_KiB, 100});  // pieces have 1 MiB
  CHECK(pair.until([&] { return pair.clients[1].received_count == 3; }));
  CHECK(pair.clients[1].used == 2700_KiB + 100);
  CHECK(pair.clients[1].memory_is_whole());
  CHECK(pair.transports[0]->stats().messages_sent == 1);
  CHECK(pair.transports[1]->stats().frames_dropped == 0);
}

TEST_CASE("ucx: 256 messages of 8 KiB leave in wire messages as large as the plan lets them be") {
  struct Row {
    Bytes fusion_bytes;
    std::uint64_t wire_messages;
  };
  for (const Row& row : {Row{0, 256}, {64_KiB, 32}, {1_MiB, 2}, {4_MiB, 1}}) {
    Pair pair(row.fusion_bytes);
    INFO("fusion_bytes " << row.fusion_bytes);
    pair.send(std::vector<Bytes>(256, 8_KiB));
    CHECK(pair.until([&] { return pair.clients[1].received_count == 256 && pair.clients[0].sent_count == 256; }));
    CHECK(pair.transports[0]->stats().messages_sent == row.wire_messages);
    CHECK(pair.transports[1]->stats().messages_received == row.wire_messages);
  }
}

TEST_CASE("ucx: a plan that fuses without end gets wire messages that both sides have memory for") {
  Pair pair(~Bytes{0});
  pair.clients[1].memory.resize(40_MiB);
  pair.send(std::vector<Bytes>(40, 1_MiB));
  CHECK(pair.until([&] { return pair.clients[1].received_count == 40 && pair.clients[0].sent_count == 40; }));
  CHECK(pair.transports[0]->stats().messages_sent == 3);  // of 16 MiB at most
  CHECK(pair.transports[1]->stats().frames_dropped == 0);
  CHECK(pair.clients[1].memory_is_whole());
}

TEST_CASE("ucx: parts of an announced fused message wait until they have a place") {
  Pair pair(4_MiB);
  pair.clients[1].puts_off = true;
  pair.send(std::vector<Bytes>(100, 8_KiB));
  REQUIRE(pair.until([&] { return pair.clients[1].asked == 100; }));
  pair.clients[1].puts_off = false;
  pair.transports[1]->retry_held();
  CHECK(pair.until([&] { return pair.clients[1].received_count == 100 && pair.clients[0].sent_count == 100; }));
  CHECK(pair.clients[1].memory_is_whole());
}

TEST_CASE("ucx: large messages leave ahead of their place, if they do not ask for it") {
  const std::vector<Bytes> sizes =
      GENERATE(std::vector<Bytes>{1_MiB}, std::vector<Bytes>{3_MiB + 5}, std::vector<Bytes>(100, 8_KiB));
  const bool unasked = GENERATE(false, true);
  INFO(sizes.size() << " messages, first of " << sizes[0] << (unasked ? ", unasked" : ", announced"));
  Pair pair(4_MiB);
  pair.clients[1].puts_off = true;
  pair.send(sizes, unasked);
  REQUIRE(pair.until([&] { return pair.clients[1].asked == sizes.size(); }));
  const Bytes all = std::accumulate(sizes.begin(), sizes.end(), Bytes{0});
  if (unasked) {
    CHECK(pair.until([&] { return pair.clients[0].sent_count == sizes.size(); }));
    CHECK(pair.until([&] { return pair.transports[1]->stats().held_bytes >= all; }));
  } else if (sizes.size() == 1) {  // an announced message of several is fetched into memory of its own
    CHECK(pair.clients[0].sent_count == 0);
    CHECK(pair.transports[1]->stats().held_bytes == 0);
  }
  pair.clients[1].puts_off = false;
  pair.transports[1]->retry_held();
  CHECK(pair.until(
      [&] { return pair.clients[1].received_count == sizes.size() && pair.clients[0].sent_count == sizes.size(); }));
  CHECK(pair.clients[1].memory_is_whole());
  CHECK(pair.transports[1]->stats().held_bytes == 0);
}

TEST_CASE("ucx: where the user says which messages are announced, each of them asks") {
  const ScopedVariable threshold("UCX_RNDV_THRESH", "128k");
  Pair pair;
  pair.clients[1].puts_off = true;
  pair.send({1_MiB}, true);
  REQUIRE(pair.until([&] { return pair.clients[1].asked == 1; }));
  CHECK(pair.clients[0].sent_count == 0);
  CHECK(pair.transports[1]->stats().held_bytes == 0);
}

TEST_CASE("ucx: messages on one machine ask their receiver first, if they cannot go through shared memory") {
  CHECK(Pair(0, 0, "ucx").transports[0]->announced_bytes(1) == 0);
  {
    const ScopedVariable transports("UCX_TLS", "tcp,self");
    CHECK(Pair(0, 0, "ucx").transports[0]->announced_bytes(1) == 128_KiB);
  }
  const ScopedVariable transports("UCX_TLS", "tcp,self,posix");
  CHECK(Pair(0, 0, "ucx").transports[0]->announced_bytes(1) == 0);
}

TEST_CASE("ucx: messages that nobody waits for yet fill memory up to a limit, and wait at their sender beyond") {
  const bool fused = GENERATE(false, true);
  INFO((fused ? "fused" : "one by one"));
  Pair pair(64_KiB, 256_KiB);
  pair.clients[1].puts_off = true;
  constexpr std::size_t kMessages = 360;
  for (std::size_t i = 0; i < kMessages / 6; ++i) {
    if (fused) {
      pair.send(std::vector<Bytes>(6, 10_KiB));
    } else {
      for (int k = 0; k < 6; ++k) pair.send({10_KiB});
    }
    REQUIRE(pair.until([&] { return pair.clients[1].asked == 6 * (i + 1); }));
  }
  // Together 3.5 MiB. A message or a few came while the notice was on its way.
  CHECK(pair.transports[1]->stats().held_bytes > 256_KiB);
  CHECK(pair.transports[1]->stats().held_bytes < 512_KiB);
  pair.clients[1].puts_off = false;
  pair.transports[1]->retry_held();
  CHECK(pair.until(
      [&] { return pair.clients[1].received_count == kMessages && pair.clients[0].sent_count == kMessages; }));
  CHECK(pair.clients[1].memory_is_whole());
  CHECK(pair.transports[1]->stats().held_bytes == 0);
  // And once there is room again, small messages leave at once.
  const std::uint64_t before = pair.transports[0]->stats().messages_sent;
  pair.send(std::vector<Bytes>(6, 1_KiB));
  CHECK(pair.until([&] { return pair.clients[1].received_count == kMessages + 6; }));
  CHECK(pair.transports[0]->stats().messages_sent == before + 1);
}

TEST_CASE("ucx: a rank connects to peers that it talks to, and to no others") {
  constexpr int kRanks = 8;
  std::array<Client, kRanks> clients;
  std::array<std::unique_ptr<Transport>, kRanks> transports;
  std::vector<std::string> addresses;
  for (Rank rank = 0; rank < kRanks; ++rank) {
    auto opened = make_transport("ucx:tcp", {.rank = rank, .ranks = kRanks, .epoch = 0x7a13, .interface_name = "lo"});
    REQUIRE(opened.status().text() == "OK");
    transports[static_cast<std::size_t>(rank)] = std::move(*opened);
    addresses.push_back(transports[static_cast<std::size_t>(rank)]->address());
  }
  const std::size_t unconnected = open_descriptors();
  for (std::size_t i = 0; i < kRanks; ++i) REQUIRE(transports[i]->connect(addresses, clients[i]).text() == "OK");
  CHECK(open_descriptors() == unconnected);
  Outgoing out;
  out.message.payload_bytes = 100;
  const std::vector<std::byte> payload(100);
  out.payload = {payload.data(), payload.size()};
  transports[0]->send(1, {&out, 1});
  const Clock::time_point deadline = after(Seconds(20));
  while (clients[1].received_count == 0 && Clock::now() < deadline) {
    for (auto& transport : transports) transport->progress();
  }
  CHECK(clients[1].received_count == 1);
  CHECK(open_descriptors() > unconnected);
  CHECK(open_descriptors() <= unconnected + 4);  // both ends of a connection, once in each direction
  // Goodbyes go to those only: nobody waits for a rank that it never talked to.
  std::vector<std::thread> closing;
  for (auto& transport : transports) closing.emplace_back([&] { transport->close(after(Seconds(20))); });
  for (std::thread& thread : closing) thread.join();
  CHECK(Clock::now() < deadline);
}

TEST_CASE("ucx: an exception of the client fails the peer, and never passes through UCX") {
  const bool when_asked = GENERATE(true, false);
  const std::vector<Bytes> sizes =
      GENERATE(std::vector<Bytes>{100}, std::vector<Bytes>{1_MiB}, std::vector<Bytes>{9, 9});
  Pair pair;
  (when_asked ? pair.clients[1].throws_when_asked : pair.clients[1].throws_when_told) = true;
  pair.send(sizes);
  INFO((when_asked ? "place() throws, " : "received() throws, ") << sizes[0] << " bytes");
  REQUIRE(pair.until([&] { return !pair.clients[1].failures.empty(); }));
  CHECK(pair.clients[1].failures[0].text() == "Internal: serving rank 0 failed here: std::bad_alloc");
  pair.clients[1].throws_when_told = false;
  for (auto& transport : pair.transports) transport->close(Clock::now());
  CHECK(pair.clients[1].failures.size() == 1);
}

TEST_CASE("ucx: a close reports each message although the client throws, and UCX has let go of all by then") {
  Pair pair;
  pair.send({1_KiB});
  REQUIRE(pair.until([&] { return pair.clients[1].received_count == 1 && pair.clients[0].sent_count == 1; }));
  pair.send(std::vector<Bytes>(3, 4_MiB));
  pair.clients[0].throws_when_sent = true;
  CHECK_THROWS_AS(pair.transports[0]->close(Clock::now()), std::bad_alloc);
  CHECK(pair.clients[0].sent_count == 4);
  pair.transports[0].reset();
  pair.transports[1]->close(Clock::now());
}

TEST_CASE("ucx: a close that waits for a peer that does not come costs next to no processor time") {
  const auto processor_seconds = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const bool flushes_only = GENERATE(false, true);
  INFO((flushes_only ? "all is sent" : "messages are under way"));
  Pair pair;
  pair.send({1_KiB});
  REQUIRE(pair.until([&] { return pair.clients[1].received_count == 1 && pair.clients[0].sent_count == 1; }));
  if (!flushes_only) pair.send(std::vector<Bytes>(3, 4_MiB));
  const double before = processor_seconds();
  const Clock::time_point begin = Clock::now();
  pair.transports[0]->close(after(Seconds(1.5)));
  CHECK(Seconds(Clock::now() - begin).count() >= 1.4);
  CHECK(processor_seconds() - before < 0.1);  // it sleeps
  pair.transports[1]->close(Clock::now());
}

TEST_CASE("ucx: a transport that is closed in the middle of a message leaves no descriptor behind") {
  // The first one of all leaves what UCX opens once in a process.
  std::size_t before = 0;
  for (int round = 0; round < 4; ++round) {
    if (round == 1) before = open_descriptors();
    for (const int rounds_of_progress : {0, 1, 3, 30}) {
      for (const std::size_t first_to_close : {0u, 1u}) {
        Pair pair;
        pair.send({1_KiB});
        REQUIRE(pair.until([&] { return pair.clients[1].received_count == 1; }));
        pair.send(std::vector<Bytes>(3, 4_MiB));
        pair.clients[1].used = 0;
        pair.clients[1].memory.resize(16_MiB);
        for (int i = 0; i < rounds_of_progress; ++i) {
          for (auto& transport : pair.transports) transport->progress();
        }
        for (const std::size_t i : {first_to_close, 1 - first_to_close}) {
          CHECK(pair.transports[i]->close(Clock::now()));
          pair.transports[i].reset();
        }
      }
    }
  }
  CHECK(open_descriptors() <= before);
}

}  // namespace casync::test
