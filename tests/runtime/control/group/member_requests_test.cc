// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/member_requests.h"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>

#include "tests/runtime/control/group/no_events.h"
#include "tests/support/logged.h"

using namespace casync;
using namespace casync::runtime;

namespace {

struct Events final : casync::runtime::testing::NoEvents {
  void gathered(Result<std::vector<BlobRef>> blobs) override {
    answers += blobs ? std::to_string(blobs->size()) + " " : blobs.status().text() + " ";
  }
  void agreed(const Agreement& agreement) override {
    for (const std::string& name : agreement.names) answers += name + " ";
  }
  void needed(const std::string& name, std::uint32_t step) override {
    answers += name + " in " + std::to_string(step) + " ";
  }
  std::string answers;
};

/// Rank 1 of 3, whose frames go nowhere.
struct Asking {
  Asking()
      : requests(identity(1), events,
                 [this](FrameType type, std::string payload) { sent.emplace_back(type, std::move(payload)); }) {}
  static Identity identity(Rank rank) {
    Identity who;
    who.rank = rank;
    who.ranks = 3;
    return who;
  }
  void gather() { requests.gather({"call", std::make_shared<const std::string>("own"), Clock::now()}); }
  Events events;
  std::vector<std::pair<FrameType, std::string>> sent;
  MemberRequests requests;
};

}  // namespace

TEST_CASE("requests: a collective call is answered once, by blobs or by all of them") {
  Asking rank;
  rank.gather();
  REQUIRE(rank.sent.size() == 1);
  CHECK(rank.sent[0].first == FrameType::kGather);
  CHECK(rank.requests.handle(FrameType::kGathered, encode_gathered(0, "a")).is_ok());
  CHECK(rank.events.answers.empty());
  CHECK(rank.requests.handle(FrameType::kGathered, encode_gathered(2, "c")).is_ok());
  CHECK(rank.events.answers == "3 ");
  const auto blob = std::make_shared<const std::string>("b");
  const std::string all = encode_all_gathered({blob, blob, blob});
  CHECK(rank.requests.handle(FrameType::kAllGathered, all).text() == "DataLoss: blobs that nobody asked for");
  rank.gather();
  CHECK(rank.requests.handle(FrameType::kAllGathered, all).is_ok());
  CHECK(rank.events.answers == "3 3 ");
}

TEST_CASE("requests: a call that rank 0 refuses or leaves open has its reason") {
  Asking rank;
  rank.gather();
  CHECK(rank.requests.handle(FrameType::kRefused, encode_abort({-1, invalid_argument("another call")})).is_ok());
  CHECK(rank.events.answers == "InvalidArgument: another call ");
  rank.requests.drop(Asking::identity(0));
  CHECK(rank.events.answers == "InvalidArgument: another call ");
  rank.gather();
  rank.requests.drop(Asking::identity(0));
  CHECK(rank.events.answers.size() > std::string("InvalidArgument: another call ").size());
}

TEST_CASE("requests: agreements and questions are about claimed names only") {
  Asking rank;
  const std::string agreed = encode_agreement({{"w"}, true});
  CHECK_FALSE(rank.requests.handle(FrameType::kAgreed, agreed).is_ok());
  CHECK_FALSE(rank.requests.handle(FrameType::kAsk, encode_name("w")).is_ok());
  rank.requests.claim({{"w", {}}});
  CHECK(rank.requests.handle(FrameType::kAgreed, agreed).is_ok());
  CHECK(rank.events.answers == "w ");
  CHECK(rank.requests.handle(FrameType::kAsk, encode_name("w")).is_ok());
  REQUIRE(rank.sent.size() == 2);
  CHECK(rank.sent[1].first == FrameType::kTold);
  CHECK(rank.requests.handle(FrameType::kNeeded, encode_needs({7, {"v"}})).is_ok());
  CHECK(rank.events.answers == "w v in 7 ");
  CHECK_FALSE(rank.requests.handle(FrameType::kClaim, "").is_ok());
}

TEST_CASE("requests: a question for late ranks goes to rank 0, and its answer to the log") {
  const test::Logged logged;
  Asking rank;
  rank.requests.ask_who_is_late("w");
  REQUIRE(rank.sent.size() == 1);
  CHECK(rank.sent[0].first == FrameType::kWhoIsLate);
  CHECK(decode_name(rank.sent[0].second).value() == "w");
  CHECK(rank.requests.handle(FrameType::kLate, encode_late(not_come("w", {0, 2}))).is_ok());
  CHECK(logged.text() == "rank 1: \"w\": ranks 0, 2 have not come yet\n");
  CHECK(rank.requests.handle(FrameType::kLate, "senseless").code() == StatusCode::kDataLoss);
}

TEST_CASE("requests: the first hundred of many late ranks are named, in less than a frame") {
  std::vector<Rank> many;
  for (Rank each = 0; each < 4096; ++each) many.push_back(each);
  const std::string sentence = not_come(std::string(kMostClaimName, 'w'), many);
  CHECK(sentence.ends_with("98, 99 and 3996 more have not come yet"));
  CHECK(encode_late(sentence).size() <= most_payload(FrameType::kLate));
}
