// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/call_desk.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

using namespace casync;
using namespace casync::runtime;

namespace {

/// The desk of three ranks, and what it sends.
struct Desk {
  Desk()
      : calls(3,
              {.send = [this](Rank to, FrameType type,
                              const std::string&) { said += std::to_string(to) + (is_refusal(type) ? "! " : "? "); },
               .broadcast = [this](FrameType type,
                                   const std::string&) { said += type == FrameType::kAllGathered ? "all " : "one "; },
               .gathered = [this](const Result<std::vector<BlobRef>>& blobs) { said += blobs ? "mine " : "mine! "; }}) {
  }
  static bool is_refusal(FrameType type) { return type == FrameType::kRefused; }
  void call(Rank rank, const std::string& what, Bytes bytes = 1) {
    calls.enter(rank, {what, std::make_shared<const std::string>(bytes, 'x'), now + std::chrono::seconds(1)});
  }
  Clock::time_point now = Clock::now();
  std::string said;
  CallDesk calls;
};

}  // namespace

TEST_CASE("call desk: an answer goes to all ranks once, large ones blob by blob") {
  Desk small, large;
  for (const Rank rank : {2, 0, 1}) {
    CHECK(small.said.empty());
    small.call(rank, "names");
    large.call(rank, "names", Bytes{22} << 20);
  }
  CHECK(small.said == "all mine ");
  CHECK(large.said == "one one one mine ");
}

TEST_CASE("call desk: ranks that wait hear that another one calls differently, or does not come") {
  Desk desk;
  desk.call(0, "names");
  desk.call(2, "names");
  CHECK(desk.calls.is_waiting(2));
  CHECK(desk.calls.waiting_for() == "names");
  CHECK(desk.calls.missing("names") == std::vector<Rank>{1});
  CHECK(desk.calls.missing("others").empty());
  CHECK(desk.calls.tend(desk.now) == desk.now + std::chrono::seconds(1));
  CHECK(desk.said.empty());
  desk.calls.tend(desk.now + std::chrono::seconds(1));
  CHECK(desk.said == "2! mine! ");
  desk.call(1, "others");  // its first call, which was decided without it
  CHECK(desk.said == "2! mine! 1! ");
}
