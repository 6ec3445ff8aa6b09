// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/tree.h"

#include <catch2/catch.hpp>
#include <future>
#include <map>

#include "runtime/control/group/messages.h"
#include "runtime/control/wire/socket.h"
#include "tests/runtime/control/control_support.h"
#include "tests/support/logged.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

namespace {

Identity rank_on(Rank rank, int ranks, const std::string& machine) {
  Identity who;
  who.rank = rank;
  who.ranks = ranks;
  who.machine = machine;
  return who;
}

/// The children of each rank when `ranks` ranks come in order from machines of `per_machine`.
std::map<Rank, int> children_of(int ranks, int per_machine) {
  const auto who = [&](Rank rank) { return rank_on(rank, ranks, "m" + std::to_string(rank / per_machine)); };
  Tree tree(who(0));
  std::map<Rank, int> children;
  for (Rank rank = 1; rank < ranks; ++rank) {
    const Rank parent = tree.place(who(rank));
    REQUIRE(parent != Tree::kWait);
    REQUIRE(parent < rank);
    ++children[parent];
    tree.listens(who(rank), {"somewhere"});
  }
  return children;
}

}  // namespace

TEST_CASE("tree: a small job is a star") { CHECK(children_of(kStarRanks, 8).at(0) == kStarRanks - 1); }

TEST_CASE("tree: no rank has more than its share of children, on any shape of cluster") {
  for (const auto& [ranks, per_machine] :
       std::vector<std::pair<int, int>>{{65, 1}, {1024, 8}, {1024, 1}, {1000, 1000}, {4096, 8}, {300, 299}}) {
    INFO(ranks << " ranks, " << per_machine << " on a machine");
    for (const auto& [rank, count] : children_of(ranks, per_machine)) CHECK(count <= 2 * kFan);
  }
  CHECK(children_of(1024, 8).at(0) <= 7 + kFan);
}

TEST_CASE("tree: one rank speaks for its machine, which the others there wait for") {
  constexpr int kRanks = 100;
  Tree tree(rank_on(0, kRanks, "a"));
  CHECK(tree.place(rank_on(1, kRanks, "b")) == 0);
  CHECK(tree.place(rank_on(2, kRanks, "b")) == Tree::kWait);
  tree.listens(rank_on(1, kRanks, "b"), {"10.0.0.1:5", "[::1]:5"});
  CHECK(tree.place(rank_on(2, kRanks, "b")) == 1);
  CHECK(tree.addresses_of(1).size() == 2);
  CHECK(tree.place(rank_on(3, kRanks, "a")) == 0);
  CHECK(tree.place(rank_on(2, kRanks, "b")) == 0);  // it could not reach its parent
  CHECK(tree.place(rank_on(4, kRanks, "")) == 0);
  CHECK(tree.place(rank_on(5, kRanks, "")) == 0);  // nobody's neighbour
}

TEST_CASE("tree: a hundred ranks join, gather, agree and part") {
  constexpr int kRanks = 100;
  Ranks group(kRanks);
  for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
  std::vector<std::string> complaints(kRanks);
  group.each([&](Rank rank, Group& each) {
    std::string& complaint = complaints[static_cast<std::size_t>(rank)];
    const auto blobs = each.all_gather("names", "rank " + std::to_string(rank), after(Seconds(20)));
    if (!blobs) complaint += blobs.status().text();
    for (Rank other = 0; blobs && other < kRanks; ++other) {
      if ((*blobs)[static_cast<std::size_t>(other)] != "rank " + std::to_string(other)) complaint += " wrong blob";
    }
    const Status agreed = each.agree({"settings", {{"codec", "int8"}}}, after(Seconds(20)));
    if (!agreed) complaint += " agree: " + agreed.text();
    const Status closed = each.close(after(Seconds(20)));
    if (!closed) complaint += " close: " + closed.text();
  });
  for (const std::string& complaint : complaints) CHECK(complaint == "");
}

TEST_CASE("tree: a rank far from rank 0 that differs, or aborts, is named on all") {
  constexpr int kRanks = 100;
  Ranks group(kRanks);
  for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
  std::vector<Status> results(kRanks);
  const bool differs = GENERATE(true, false);
  group.each([&](Rank rank, Group& each) {
    if (!differs && rank == 90) each.abort(unavailable("no more memory"));
    results[static_cast<std::size_t>(rank)] =
        each.agree({"codec", {{"codec", rank == 90 ? "int4" : "int8"}}}, after(Seconds(20)));
  });
  for (const Status& result : results) {
    CHECK_THAT(result.text(), Contains(differs ? "rank 90 has int4" : "rank 90 (") &&
                                  Contains(differs ? "has int8" : "no more memory"));
  }
}

TEST_CASE("tree: a rank that leaves without a goodbye is named on all, wherever it sits") {
  constexpr int kRanks = 80;
  Ranks group(kRanks);
  for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
  std::vector<Status> results(kRanks);
  group.each([&](Rank rank, Group& each) {
    if (rank == 70) {
      static_cast<void>(each.close(after(Seconds(0.1))));
      return;
    }
    results[static_cast<std::size_t>(rank)] = each.all_gather("names", "x", after(Seconds(20))).status();
  });
  for (Rank rank = 0; rank < kRanks; ++rank) {
    if (rank != 70) CHECK_THAT(results[static_cast<std::size_t>(rank)].text(), Contains("rank 70 ("));
  }
}

TEST_CASE("tree: a rank that falls silent is named on all, whoever is its parent") {
  constexpr Rank kRanks = 70, kSilent = kRanks - 1;
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(kRanks, stores, [&] { return make_file_store(directory.path()); });
  for (GroupOptions& each : options) each.dead = Seconds(1.5);
  const GroupOptions of_silent = options.back();
  options.pop_back();
  auto others = std::async(std::launch::async, [&] { return join_all(options); });
  const Identity silent = own_identity(kSilent, kRanks);
  const auto entrance = find_hub(of_silent, silent, after(Seconds(10)));
  REQUIRE(entrance.status().text() == "OK");
  FrameSealer sealer(entrance->key_out);
  const Payload here(encode_here({silent, {}}));
  REQUIRE(send_all(entrance->fd.get(), sealer.header(FrameType::kHere, here) + here.bytes, after(Seconds(5))).is_ok());
  const auto joined = others.get();
  for (const std::string& text : texts_of(joined)) REQUIRE(text == "");
  for (const Joined& each : joined) {
    const Status cause = (*each)->all_gather("after", "", after(Seconds(20))).status();
    CHECK_THAT(cause.text(), Contains("PeerFailure: rank 69 (") && Contains("no sign of life for "));
  }
}

TEST_CASE("tree: a rank below a relay that sends nonsense is named, and not the relay") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  const auto options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
  auto root = std::async(std::launch::async, [&] { return Group::join(options[0]); });
  const auto relay = find_hub(options[1], own_identity(1, 3), after(Seconds(10)));
  REQUIRE(relay.status().text() == "OK");
  FrameSealer sealer(relay->key_out);
  const auto pass_up = [&](Rank from, FrameType type, const std::string& bytes) {
    const Payload passed(encode_passed({from, type, bytes}));
    return send_all(relay->fd.get(), sealer.header(FrameType::kUp, passed) + passed.bytes, after(Seconds(5)));
  };
  REQUIRE(pass_up(2, FrameType::kHere, encode_here({own_identity(2, 3), {}})).is_ok());
  const Joined joined = root.get();
  REQUIRE(joined.status().text() == "OK");
  const bool is_of_rank_0 = GENERATE(false, true);
  CAPTURE(is_of_rank_0);
  if (is_of_rank_0) {
    REQUIRE(pass_up(0, FrameType::kGoodbye, encode_goodbye({{0}, ""})).is_ok());
  } else {
    REQUIRE(pass_up(2, FrameType::kGather, "x").is_ok());
  }
  const Status cause = (*joined)->all_gather("after", "", after(Seconds(20))).status();
  if (is_of_rank_0) {
    CHECK_THAT(cause.text(), Catch::StartsWith("DataLoss: rank 1 (") && Contains("rank 0 that came from below"));
  } else {
    CHECK_THAT(cause.text(), Catch::StartsWith("DataLoss: rank 2 (") && Contains("malformed collective call"));
  }
}

TEST_CASE("tree: bytes of agreement through rank 0 grow with the number of ranks, and not with the facts") {
  const auto bytes_of_agreement = [](int ranks, std::size_t facts) {
    Ranks group(ranks, Seconds(4.5));  // beats are bytes, too
    for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
    const Bytes before = (*group.joined[0])->control_bytes();
    group.each([&](Rank, Group& each) {
      Claim claim{"settings", {}};
      for (std::size_t i = 0; i < facts; ++i) claim.facts.emplace_back("gradient " + std::to_string(i), "int8, ps");
      static_cast<void>(each.agree(std::move(claim), after(Seconds(30))));
    });
    return (*group.joined[0])->control_bytes() - before;
  };
  const Bytes small = bytes_of_agreement(16, 10), large = bytes_of_agreement(256, 10);
  CHECK(large < 2 * 16 * small);
  CHECK(large < 256 * 1024);
  CHECK(bytes_of_agreement(16, 2000) < small + small / 2);
}

TEST_CASE("tree: a rank that waits below a relay logs which ranks have not come") {
  constexpr Rank kRanks = 70;
  const test::Logged logged;
  Ranks group(kRanks);
  for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
  Group& far = **group.joined[kRanks - 1];
  far.claim({{"gradient a", {}}});
  far.ask_who_is_late("gradient a");
  CHECK(logged.wait_for("rank 69: \"gradient a\": ranks 0, 1, 2, 3, "));
}
