// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <type_traits>

namespace casync {
namespace {

Result<int> half_of(int n) {
  if (n % 2 != 0) return invalid_argument(std::to_string(n) + " is odd");
  return n / 2;
}

// Counts the steps that it made, so that the test sees where the macro returned.
Status three_steps(const Status& second, int& steps) {
  steps = 1;
  CASYNC_RETURN_IF_ERROR(Status::ok());
  steps = 2;
  CASYNC_RETURN_IF_ERROR(second);
  steps = 3;
  return Status::ok();
}

TEST_CASE("status: a new one is OK and has no message") {
  const Status status;
  CHECK(status.is_ok());
  CHECK(static_cast<bool>(status));
  CHECK(status.code() == StatusCode::kOk);
  CHECK(status.message().empty());
  CHECK(status.text() == "OK");
}

TEST_CASE("status: the text is the exception's name and the message") {
  const Status status = peer_failure("rank 2 left");
  CHECK_FALSE(status.is_ok());
  CHECK_FALSE(static_cast<bool>(status));
  CHECK(status.text() == "PeerFailure: rank 2 left");
}

TEST_CASE("status: each maker makes its own code") {
  CHECK(invalid_argument("").code() == StatusCode::kInvalidArgument);
  CHECK(plan_error("").code() == StatusCode::kPlanError);
  CHECK(peer_failure("").code() == StatusCode::kPeerFailure);
  CHECK(timeout_error("").code() == StatusCode::kTimeout);
  CHECK(data_loss("").code() == StatusCode::kDataLoss);
  CHECK(unavailable("").code() == StatusCode::kUnavailable);
  CHECK(aborted("").code() == StatusCode::kAborted);
  CHECK(unimplemented("").code() == StatusCode::kUnimplemented);
  CHECK(internal_error("").code() == StatusCode::kInternal);
  CHECK(compile_error("").code() == StatusCode::kCompileError);
}

TEST_CASE("status: no two codes share a name") {
  std::set<std::string> names;
  const int last = static_cast<int>(kLastStatusCode);
  for (int code = 0; code <= last; ++code) names.insert(name_of(static_cast<StatusCode>(code)));
  CHECK(names.size() == static_cast<std::size_t>(last) + 1);
}

TEST_CASE("status: the macro leaves at the first error and hands it on") {
  int steps = 0;
  CHECK(three_steps(Status::ok(), steps).is_ok());
  CHECK(steps == 3);
  const Status failed = three_steps(data_loss("short"), steps);
  CHECK(steps == 2);
  CHECK(failed.text() == "DataLoss: short");
}

TEST_CASE("result: holds the value or the reason") {
  const Result<int> two = half_of(4);
  REQUIRE(two.is_ok());
  CHECK(*two == 2);
  CHECK(two.status().is_ok());

  const Result<int> none = half_of(5);
  CHECK_FALSE(none.is_ok());
  CHECK(none.status().text() == "InvalidArgument: 5 is odd");
}

TEST_CASE("result: a value that only moves comes out by moving") {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  REQUIRE(result.is_ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  CHECK(*taken == 7);
}

TEST_CASE("result: can be changed in place") {
  Result<std::string> name("conv");
  name->append("1");
  *name += ".weight";
  CHECK(name.value() == "conv1.weight");
}

// A Status that converts to int by accident would be compared with numbers.
static_assert(!std::is_convertible_v<Status, bool>);
static_assert(!std::is_convertible_v<Result<int>, bool>);

}  // namespace
}  // namespace casync
