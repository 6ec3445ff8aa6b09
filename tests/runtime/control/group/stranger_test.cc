// SPDX-License-Identifier: Apache-2.0
// Connections that are not ranks, and ranks whose bytes are damaged.
#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <random>

#include "runtime/control/group/messages.h"
#include "runtime/control/wire/frame.h"
#include "runtime/control/wire/handshake.h"
#include "runtime/control/wire/socket.h"
#include "runtime/control/wire/strangers.h"
#include "tests/runtime/control/control_support.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

namespace {

SocketAddress address_in(const std::string& directory) {
  const auto store = make_file_store(directory);
  auto meeting = look_up(*store, after(Seconds(10)));
  REQUIRE(meeting.status().text() == "OK");
  return meeting->addresses.front();
}

int open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

std::string greeting(int kind, std::mt19937& random) {
  switch (kind % 5) {
    case 0: return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    case 1: return "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";  // a TLS hello begins so
    case 2: return std::string("CSY1\xff\xff", 6) + std::string(100, 'x');
    case 3: return "CSY";  // and then nothing: holds its place for as long as it may
    default: break;
  }
  std::string bytes(1 + random() % 5000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

/// So many connections that are not ours; those that are still open live on in the result.
std::vector<Fd> molest(const SocketAddress& address, int count) {
  std::mt19937 random(20260104);
  std::vector<Fd> open;
  for (int i = 0; i < count; ++i) {
    auto fd = connect_to(address, after(Seconds(5)));
    if (!fd) continue;
    // A refusal in the middle of it is an answer, too.
    static_cast<void>(send_all(fd->get(), greeting(i, random), after(Seconds(5))));
    open.push_back(std::move(*fd));
  }
  return open;
}

/// A hub in a thread and one member that is this test: it speaks the protocol, and then whatever it likes.
struct FalseMember {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<GroupOptions> options;
  std::vector<Joined> joined;  // ranks 0 and 1; rank 2 is the test
  std::unique_ptr<Entrance> entrance;

  FalseMember() {
    options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
    auto real = std::async(std::launch::async, [&] { return join_all({options[0], options[1]}); });
    auto way_in = find_hub(options[2], own_identity(2, 3), after(Seconds(10)));
    if (way_in) entrance = std::make_unique<Entrance>(std::move(*way_in));
    joined = real.get();
  }
};

/// A hello of somebody who holds the token but is not as the others are.
Status refusal_of(const Identity& newcomer) {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
  auto real = std::async(std::launch::async, [&] { return join_all({options[0], options[1]}); });
  const Status told = find_hub(options[2], newcomer, after(Seconds(10))).status();
  for (const Joined& each : real.get()) {
    CHECK(each.status().text() == told.text());
  }
  return told;
}

}  // namespace

TEST_CASE("strangers: an error names three of the sources that were refused, and the number of the others") {
  Strangers strangers;
  for (const char* source : {"10.0.0.1", "10.0.0.2", "10.0.0.3"}) strangers.refused(source, "no", Clock::now());
  CHECK(strangers.summary() ==
        "refused meanwhile: 10.0.0.1 (1 times, last: no), 10.0.0.2 (1 times, last: no), 10.0.0.3 (1 times, last: no)");
  for (const char* source : {"10.0.0.4", "10.0.0.5", "10.0.0.5"}) strangers.refused(source, "no", Clock::now());
  CHECK_THAT(strangers.summary(),
             Contains("10.0.0.3 (") && !Contains("10.0.0.4") && Catch::EndsWith("), 2 other sources"));
}

TEST_CASE("strangers: 200 connections that are none do not keep the ranks from joining, nor from running") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
  auto hub = std::async(std::launch::async, [&] { return Group::join(options[0]); });
  const SocketAddress address = address_in(directory.path());
  const std::vector<Fd> early = molest(address, 200);
  CHECK(early.size() == 200);
  auto others = join_all({options[1], options[2]});
  std::vector<Joined> joined;
  joined.push_back(hub.get());
  for (Joined& each : others) joined.push_back(std::move(each));
  for (const std::string& text : texts_of(joined)) CHECK(text.empty());
  for (const Joined& each : joined) REQUIRE(each.is_ok());
  const std::vector<Fd> late = molest(address, 200);
  std::vector<std::string> seen(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { seen[i] = (*joined[i])->all_gather("x", "y", after(Seconds(10))).status().text(); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(seen == std::vector<std::string>(3, "OK"));
}

TEST_CASE("strangers: a crowd waits in the queue: rank 0 of a large job holds no more callers than of a small one") {
  constexpr int kCrowd = 500, kRanks = 1000;
  TemporaryDirectory directory;
  const auto store = make_file_store(directory.path());
  GroupOptions options = quick_options(0, kRanks, store.get());
  options.timeout = Seconds(2);
  const int before = open_descriptors();
  auto hub = std::async(std::launch::async, [&] { return Group::join(options); });
  const SocketAddress address = address_in(directory.path());
  std::vector<Fd> crowd;
  for (int i = 0; i < kCrowd; ++i) {
    auto fd = connect_to(address, after(Seconds(5)));
    REQUIRE(fd.status().text() == "OK");
    crowd.push_back(std::move(*fd));
  }
  int most = 0;
  while (hub.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
    most = std::max(most, open_descriptors() - before - kCrowd);
  }
  CHECK(hub.get().status().code() == StatusCode::kTimeout);
  CHECK(most >= 64);
  CHECK(most < 200);
}

TEST_CASE("strangers: a conversation played back by somebody without the token does not get in") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
  auto hub = std::async(std::launch::async, [&] { return Group::join(options[0]); });
  const auto meeting = look_up(*stores[1], after(Seconds(10)));
  REQUIRE(meeting.is_ok());
  const SocketAddress& address = meeting.value().addresses.front();
  const auto converse = [&](const std::string& hello, const std::function<std::string(const std::string&)>& answer) {
    auto fd = connect_to(address, after(Seconds(5)));
    REQUIRE(fd.is_ok());
    PacketReader packets;
    const auto next = [&]() -> std::string {
      for (std::string bytes;; bytes.clear()) {
        auto packet = packets.next();
        if (!packet || packet->has_value()) return packet ? **packet : "";
        if (!receive_some(fd->get(), &bytes, after(Seconds(5)))) return "";
        packets.push(bytes);
      }
    };
    REQUIRE(send_all(fd->get(), hello, after(Seconds(5))).is_ok());
    REQUIRE(send_all(fd->get(), answer(next()), after(Seconds(5))).is_ok());
    return next();
  };
  // An honest rank's proof for the challenge of another conversation: all that who listened has to play back.
  MemberHandshake honest({own_identity(1, 3), 10000}, meeting.value().token);
  HubHandshake elsewhere(own_identity(0, 3), meeting.value().token);
  PacketReader hello;
  hello.push(honest.hello());
  auto challenge = elsewhere.challenge(**hello.next());
  PacketReader body;
  body.push(*challenge);
  const std::string recorded = *honest.proof(**body.next());
  const std::string verdict = converse(honest.hello(), [&](const std::string&) { return recorded; });
  CHECK(honest.verdict(verdict).status().code() == StatusCode::kUnavailable);
  auto others = join_all({options[1], options[2]});
  CHECK(hub.get().status().text() == "OK");
  for (const std::string& text : texts_of(others)) CHECK(text.empty());
}

TEST_CASE("strangers: another version, protocol or build is refused on all ranks, with both named") {
  Identity newcomer = own_identity(2, 3);
  newcomer.version = "9.9.9";
  CHECK_THAT(refusal_of(newcomer).text(), Contains("InvalidArgument: the ranks run different builds") &&
                                              Contains("casync 9.9.9 (protocol " + std::to_string(kControlProtocol)) &&
                                              Contains("rank 2") && Contains(own_identity(0, 3).build()));
  newcomer = own_identity(2, 3);
  newcomer.protocol = 7;
  CHECK_THAT(refusal_of(newcomer).text(),
             Contains("protocol 7") && Contains("protocol " + std::to_string(kControlProtocol)));
  newcomer = own_identity(2, 3);
  newcomer.abi = "32-bit big-endian";
  CHECK_THAT(refusal_of(newcomer).text(), Contains("32-bit big-endian") && Contains("64-bit"));
  newcomer = own_identity(0, 3);
  CHECK_THAT(refusal_of(newcomer).text(), Contains("two processes have rank 0"));
  newcomer = own_identity(3, 3);
  CHECK_THAT(refusal_of(newcomer).text(), Contains("rank 3") && Contains("outside 0 .. 2"));
}

TEST_CASE("strangers: a rank that comes when all are there is told who has its place, and the job goes on") {
  Ranks group(2);
  GroupOptions late = group.options[1];
  late.timeout = Seconds(1.5);
  const auto store = make_file_store(group.directory.path());
  late.store = store.get();
  const Status told = Group::join(late).status();
  CHECK(told.code() == StatusCode::kTimeout);
  CHECK_THAT(told.message(), Contains("two processes have rank 1"));
  for (const Joined& each : group.joined) CHECK((*each)->failure().is_ok());
}

TEST_CASE("strangers: nobody takes the place of a rank that said goodbye, and the others go on") {
  Ranks group(3);
  for (const Joined& each : group.joined) REQUIRE(each.is_ok());
  std::promise<void> left;
  (*group.joined[0])->watch_leavers([&](Rank, const LastWords&) { left.set_value(); });
  group.joined[2] = internal_error("gone");
  left.get_future().wait();
  GroupOptions late = group.options[2];
  late.timeout = Seconds(1.5);
  const Status told = Group::join(late).status();
  CHECK(told.code() == StatusCode::kTimeout);
  CHECK_THAT(told.message(), Contains("the job that listens here has begun without rank 2"));
  for (Rank rank : {0, 1}) CHECK((*group.joined[static_cast<std::size_t>(rank)])->failure().text() == "OK");
}

TEST_CASE("strangers: a rank that leaves while others still join ends the job at once, with its name") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  const auto options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
  auto root = std::async(std::launch::async, [&] { return Group::join(options[0]).status().text(); });
  const auto entrance = find_hub(options[1], own_identity(1, 3), after(Seconds(10)));
  REQUIRE(entrance.status().text() == "OK");
  FrameSealer sealer(entrance->key_out);
  const Payload goodbye(encode_goodbye({{1}, ""}));
  const std::string bytes = sealer.header(FrameType::kGoodbye, goodbye) + goodbye.bytes;
  REQUIRE(send_all(entrance->fd.get(), bytes, after(Seconds(5))).is_ok());
  CHECK_THAT(root.get(),
             Catch::StartsWith("PeerFailure: rank 1 (") && Catch::EndsWith("left while ranks still joined"));
}

TEST_CASE("strangers: damaged bytes of a joined rank end the job with its name, not with a crash") {
  const std::string how = GENERATE("flipped", "length", "random", "wrong form", "half and gone");
  FalseMember job;
  REQUIRE(job.entrance != nullptr);
  for (const Joined& each : job.joined) REQUIRE(each.is_ok());
  FrameSealer sealer(job.entrance->key_out);
  std::string bytes = sealer.header(FrameType::kGather, Payload(std::string(100, 'x'))) + std::string(100, 'x');
  if (how == "flipped") bytes[120] = static_cast<char>(bytes[120] ^ 4);
  if (how == "length") bytes[7] = '\x7f';
  if (how == "random") bytes = std::string(500, '\x5a');
  if (how == "half and gone") bytes.resize(80);
  REQUIRE(send_all(job.entrance->fd.get(), bytes, after(Seconds(5))).is_ok());
  if (how == "half and gone") job.entrance->fd.reset();
  for (const Joined& each : job.joined) {
    const Status cause = (*each)->all_gather("x", "", after(Seconds(10))).status();
    INFO(how << ": " << cause.text());
    CHECK(cause.code() == (how == "half and gone" ? StatusCode::kPeerFailure : StatusCode::kDataLoss));
    CHECK_THAT(cause.message(), Contains("rank 2 ("));
  }
}

TEST_CASE("strangers: noise in frames of each type on a joined connection ends the job on all ranks, with no crash") {
  std::mt19937 random(20260105);
  for (int number = 1; number <= static_cast<int>(kLastFrameType); ++number) {
    CAPTURE(number);
    const auto type = static_cast<FrameType>(number);
    FalseMember job;  // the first frame that is refused ends a job
    REQUIRE(job.entrance != nullptr);
    for (const Joined& each : job.joined) REQUIRE(each.is_ok());
    FrameSealer sealer(job.entrance->key_out);
    // Well sealed frames with senseless contents: what a broken peer of ours could send.
    for (int i = 0; i < 100; ++i) {
      std::string noise(random() % 200, '\0');
      for (char& byte : noise) byte = static_cast<char>(random());
      if (noise.size() > most_payload(type)) noise.resize(most_payload(type));
      const std::string header = sealer.header(type, Payload(noise));
      if (!send_all(job.entrance->fd.get(), header + noise, after(Seconds(5)))) break;
    }
    // Noise means something in some frames, as in a beat, and no frame looks like this.
    static_cast<void>(send_all(job.entrance->fd.get(), std::string(500, '\x5a'), after(Seconds(5))));
    const Status cause = (*job.joined[0])->all_gather("x", "", after(Seconds(10))).status();
    CHECK(!cause.is_ok());
    CHECK((*job.joined[1])->all_gather("x", "", after(Seconds(10))).status().text() == cause.text());
  }
}
