// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/handshake.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace casync;
using namespace casync::runtime;

namespace {

std::string body_of(const std::string& packet) {
  PacketReader reader;
  reader.push(packet);
  auto body = reader.next();
  REQUIRE(body.is_ok());
  REQUIRE(body->has_value());
  return **body;
}

}  // namespace

TEST_CASE("handshake: both sides with the token believe each other and hold the same keys") {
  MemberHandshake member({own_identity(3, 4), 1500}, "the token");
  HubHandshake hub(own_identity(0, 4), "the token");
  auto challenge = hub.challenge(body_of(member.hello()));
  REQUIRE(challenge.is_ok());
  auto proof = member.proof(body_of(*challenge));
  REQUIRE(proof.is_ok());
  CHECK(hub.check_proof(body_of(*proof)).is_ok());
  CHECK(hub.hello().who.rank == 3);
  CHECK(hub.hello().patience_ms == 1500);
  auto verdict = member.verdict(body_of(hub.verdict({Verdict::Kind::kWelcome, 77, {}})));
  REQUIRE(verdict.is_ok());
  CHECK(verdict->epoch == 77);
  CHECK(member.hub().text() == own_identity(0, 4).text());
  CHECK(member.keys().to_hub == hub.keys().to_hub);
  CHECK(member.keys().to_member == hub.keys().to_member);
  CHECK(hub.keys().to_hub != hub.keys().to_member);
}

TEST_CASE("handshake: another token convinces neither side") {
  MemberHandshake member({own_identity(1, 2), 0}, "one token");
  HubHandshake hub(own_identity(0, 2), "another token");
  auto challenge = hub.challenge(body_of(member.hello()));
  auto proof = member.proof(body_of(*challenge));
  CHECK(hub.check_proof(body_of(*proof)).code() == StatusCode::kUnavailable);
  const std::string verdict = body_of(hub.verdict({Verdict::Kind::kWelcome, 1, {}}));
  CHECK(member.verdict(verdict).status().code() == StatusCode::kUnavailable);
}

TEST_CASE("handshake: a stranger does not learn who the hub is") {
  const Identity self = own_identity(0, 2);
  HubHandshake hub(self, "token");
  MemberHandshake stranger({own_identity(1, 2), 0}, "another token");
  auto challenge = hub.challenge(body_of(stranger.hello()));
  REQUIRE(challenge.is_ok());
  auto proof = stranger.proof(body_of(*challenge));
  CHECK(!hub.check_proof(body_of(*proof)).is_ok());
  const std::string heard = *challenge + hub.verdict({Verdict::Kind::kRefused, 0, unavailable("wrong token")});
  for (const std::string& told : {self.host, self.machine, self.version, self.abi}) {
    INFO(told);
    REQUIRE(!told.empty());
    CHECK(heard.find(told) == std::string::npos);
  }
}

TEST_CASE("handshake: the longest verdict fits into a packet") {
  Identity self = own_identity(0, 2);
  self.host = self.version = self.abi = self.machine = std::string(255, 'x');
  HubHandshake hub(self, "token");
  MemberHandshake member({own_identity(1, 2), 0}, "token");
  auto proof = member.proof(body_of(*hub.challenge(body_of(member.hello()))));
  REQUIRE(hub.check_proof(body_of(*proof)).is_ok());
  const Verdict refused{Verdict::Kind::kRefused, 1, invalid_argument(std::string(5000, 'y'))};
  auto verdict = member.verdict(body_of(hub.verdict(refused)));
  REQUIRE(verdict.is_ok());
  CHECK(verdict->reason.message().size() > 2000);
  CHECK(member.hub().host == self.host);
}

TEST_CASE("handshake: a refusal without a reason is no verdict, nor a welcome with one") {
  const std::vector<Verdict> verdicts = {{Verdict::Kind::kRefused, 1, Status()},
                                         {Verdict::Kind::kTryAgain, 1, Status()},
                                         {Verdict::Kind::kElsewhere, 1, Status()},
                                         {Verdict::Kind::kWelcome, 1, aborted("enough")}};
  for (const Verdict& verdict : verdicts) {
    HubHandshake hub(own_identity(0, 2), "token");
    MemberHandshake member({own_identity(1, 2), 0}, "token");
    auto proof = member.proof(body_of(*hub.challenge(body_of(member.hello()))));
    REQUIRE(hub.check_proof(body_of(*proof)).is_ok());
    CHECK(member.verdict(body_of(hub.verdict(verdict))).status().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("handshake: a recorded conversation proves nothing the second time, nor a proof sent back") {
  MemberHandshake member({own_identity(1, 2), 0}, "token");
  HubHandshake first(own_identity(0, 2), "token");
  const std::string hello = body_of(member.hello());
  auto proof = member.proof(body_of(*first.challenge(hello)));
  const std::string recorded = body_of(*proof);
  REQUIRE(first.check_proof(recorded).is_ok());
  HubHandshake second(own_identity(0, 2), "token");
  REQUIRE(second.challenge(hello).is_ok());
  CHECK(!second.check_proof(recorded).is_ok());
  CHECK(!member.verdict(recorded).is_ok());
}

TEST_CASE("handshake: a changed rank in a hello breaks the proof") {
  MemberHandshake member({own_identity(1, 4), 0}, "token");
  MemberHandshake liar({own_identity(2, 4), 0}, "token");
  HubHandshake hub(own_identity(0, 4), "token");
  auto challenge = hub.challenge(body_of(liar.hello()));
  auto proof = member.proof(body_of(*challenge));
  CHECK(!hub.check_proof(body_of(*proof)).is_ok());
}

TEST_CASE("handshake: every truncation and 10,000 random packets are refused") {
  MemberHandshake member({own_identity(1, 2), 0}, "token");
  const std::string hello = body_of(member.hello());
  for (std::size_t size = 0; size < hello.size(); ++size) {
    HubHandshake hub(own_identity(0, 2), "token");
    CHECK(!hub.challenge(hello.substr(0, size)).is_ok());
  }
  std::mt19937 random(20260103);
  for (int i = 0; i < 10000; ++i) {
    std::string noise(random() % 250, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    PacketReader unknown;
    unknown.push("?" + noise);
    REQUIRE(!unknown.next().is_ok());
    PacketReader known;
    known.push(std::string("CSY1") + static_cast<char>(noise.size()) + '\0' + noise);
    HubHandshake hub(own_identity(0, 2), "token");
    REQUIRE(!hub.challenge(known.next().value().value()).is_ok());
  }
}
