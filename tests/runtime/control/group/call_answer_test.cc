// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/call_answer.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("call answer: blobs come in any order, and are handed over by rank with the last one") {
  CallAnswer answer(1, 3);
  answer.expect(std::make_shared<const std::string>("mine"));
  CHECK(answer.is_expected());
  auto first = answer.take({2, "two"});
  REQUIRE(first.is_ok());
  CHECK_FALSE(first->has_value());
  CHECK_FALSE(answer.take({1, "an echo"})->has_value());
  auto last = answer.take({0, "zero"});
  REQUIRE(last.is_ok());
  REQUIRE(last->has_value());
  REQUIRE((*last)->size() == 3);
  CHECK(*(**last)[0] == "zero");
  CHECK(*(**last)[1] == "mine");
  CHECK(*(**last)[2] == "two");
  CHECK_FALSE(answer.is_expected());
}

TEST_CASE("call answer: a blob that nobody asked for is refused") {
  CallAnswer answer(0, 3);
  CHECK(answer.take({1, "early"}).status().code() == StatusCode::kDataLoss);
  answer.expect(std::make_shared<const std::string>("mine"));
  CHECK(answer.take({1, "one"}).is_ok());
  CHECK(answer.take({1, "again"}).status().code() == StatusCode::kDataLoss);
  answer.drop();
  CHECK(answer.take({2, "late"}).status().code() == StatusCode::kDataLoss);
}

TEST_CASE("call answer: a call that has its answer otherwise keeps no blob") {
  CallAnswer answer(0, 2);
  auto own = std::make_shared<const std::string>("mine");
  const std::weak_ptr<const std::string> kept = own;
  answer.expect(std::move(own));
  CHECK_FALSE(kept.expired());
  answer.drop();
  CHECK(kept.expired());
}
