// SPDX-License-Identifier: Apache-2.0
#include "plugins/c_api/options.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <map>

#include "tests/environment/scoped_variable.h"

namespace casync::c_api {
namespace {

casync_session_options zeroed() {
  casync_session_options options;
  std::memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  return options;
}

std::string refusal(const casync_session_options& options) { return session_options(&options).status().text(); }

/// Every variable that session_options reads, unset for a scope.
struct CleanEnvironment {
  ScopedVariable plan{"CASYNC_PLAN", nullptr}, codec{"CASYNC_CODEC", nullptr}, transport{"CASYNC_TRANSPORT", nullptr},
      timeout{"CASYNC_TIMEOUT_SEC", nullptr}, trace{"CASYNC_TRACE", nullptr};
};

}  // namespace

TEST_CASE("options: a zeroed struct is the launcher's place and the documented defaults") {
  const CleanEnvironment clean;
  const auto options = zeroed();
  const Result<runtime::SessionOptions> filled = session_options(&options);
  REQUIRE(filled.status().text() == "OK");
  CHECK(!filled->launch.rank);
  CHECK(!filled->launch.ranks);
  CHECK(!filled->launch.rendezvous);
  CHECK(!filled->launch.token);
  CHECK(filled->plan_file.empty());
  CHECK(!filled->codec);
  CHECK(filled->transport == "ucx");
  CHECK(filled->op == runtime::ReduceOp::kAverage);
  CHECK(filled->timeout_s == 300);
  CHECK(filled->trace_directory.empty());
  CHECK(!filled->store.set);
}

TEST_CASE("options: rank 0 of one is told from a zeroed struct") {
  const CleanEnvironment clean;
  auto options = zeroed();
  options.size = 1;
  CHECK(session_options(&options)->launch.rank == 0);
  CHECK(session_options(&options)->launch.ranks == 1);
  options.rank = options.size = -1;
  CHECK(!session_options(&options)->launch.rank);
  CHECK(!session_options(&options)->launch.ranks);
}

TEST_CASE("options: unset arguments come from the environment") {
  const CleanEnvironment clean;
  const ScopedVariable codec("CASYNC_CODEC", "int4:block=64"), transport("CASYNC_TRANSPORT", "loopback"),
      timeout("CASYNC_TIMEOUT_SEC", "7.5"), trace("CASYNC_TRACE", "/tmp/t");
  const auto options = zeroed();
  const Result<runtime::SessionOptions> filled = session_options(&options);
  REQUIRE(filled.status().text() == "OK");
  CHECK(filled->codec == CodecChoice{"int4", {{"block", 64}}});
  CHECK(filled->transport == "loopback");
  CHECK(filled->timeout_s == 7.5);
  CHECK(filled->trace_directory == "/tmp/t");
}

TEST_CASE("options: an argument wins over the environment, be it empty") {
  const CleanEnvironment clean;
  const ScopedVariable plan("CASYNC_PLAN", "a.txtpb"), codec("CASYNC_CODEC", "int4"),
      transport("CASYNC_TRANSPORT", "loopback"), timeout("CASYNC_TIMEOUT_SEC", "nonsense"), trace("CASYNC_TRACE", "/t");
  auto options = zeroed();
  options.codec = "int8";
  options.transport = "ucx:tcp";
  options.timeout_s = 2;
  options.trace = "";
  const Result<runtime::SessionOptions> filled = session_options(&options);
  REQUIRE(filled.status().text() == "OK");
  CHECK(filled->plan_file.empty());
  CHECK(filled->codec == CodecChoice{"int8", {}});
  CHECK(filled->transport == "ucx:tcp");
  CHECK(filled->timeout_s == 2);
  CHECK(filled->trace_directory.empty());
  options.codec = "";
  CHECK(!session_options(&options)->codec);
  CHECK(session_options(&options)->plan_file.empty());
  options.timeout_s = 0;
  CHECK(refusal(options) == "InvalidArgument: CASYNC_TIMEOUT_SEC=nonsense: expected a number from 0.001 to 1000000");
}

TEST_CASE("options: a plan and a codec together are refused, wherever they come from") {
  const CleanEnvironment clean;
  auto options = zeroed();
  options.plan = "a.txtpb";
  options.codec = "int8";
  CHECK(
      refusal(options) ==
      "InvalidArgument: plan and codec are both set (\"a.txtpb\", \"int8\"): a plan says itself which codecs it uses; "
      "leave one of them out");
  const ScopedVariable plan("CASYNC_PLAN", "b.txtpb"), codec("CASYNC_CODEC", "int4");
  CHECK(refusal(zeroed()).starts_with("InvalidArgument: CASYNC_PLAN and CASYNC_CODEC are both set (\"b.txtpb\", "));
}

TEST_CASE("options: parameters join those in the codec's text and belong to nothing else") {
  const CleanEnvironment clean;
  auto options = zeroed();
  casync_parameter parameters[2] = {{"block", 64}, {"feedback", 0}};
  options.parameters = parameters;
  options.parameter_count = 2;
  CHECK(refusal(options) == "InvalidArgument: parameters are set without a codec");
  options.codec = "int4:x=1";
  CHECK(session_options(&options)->codec == CodecChoice{"int4", {{"x", 1}, {"block", 64}, {"feedback", 0}}});
  parameters[1].name = "x";
  CHECK(refusal(options) == "InvalidArgument: codec int4: parameter x twice");
  parameters[1] = {"y", std::numeric_limits<double>::quiet_NaN()};
  CHECK(refusal(options) == "InvalidArgument: codec int4: parameter y is not finite");
  parameters[1] = {nullptr, 0};
  CHECK(refusal(options) == "InvalidArgument: `parameters[1].name` is NULL");
  options.parameters = nullptr;
  CHECK(refusal(options) == "InvalidArgument: `parameters` is NULL");
}

TEST_CASE("options: impossible values are refused by value") {
  const CleanEnvironment clean;
  CHECK(session_options(nullptr).status().text() == "InvalidArgument: `options` is NULL");
  auto options = zeroed();
  options.struct_size = 8;
  CHECK(refusal(options).starts_with("InvalidArgument: casync_session_options.struct_size is 8, at least "));
  options.struct_size = std::size_t{1} << 40;
  CHECK(refusal(options).starts_with("InvalidArgument: casync_session_options.struct_size is 1099511627776"));
  options = zeroed();
  options.rank = -2;
  CHECK(refusal(options) == "InvalidArgument: rank is -2, expected -1 or more");
  options = zeroed();
  options.size = -7;
  CHECK(refusal(options) == "InvalidArgument: size is -7, expected -1 or more");
  options = zeroed();
  options.op = "mean";
  CHECK(refusal(options) == "InvalidArgument: op is \"mean\", expected average, sum or copy");
  for (double wrong : {-1.0, 1e7, std::numeric_limits<double>::quiet_NaN()}) {
    options = zeroed();
    options.timeout_s = wrong;
    CHECK(refusal(options).starts_with("InvalidArgument: timeout_s is "));
  }
  const ScopedVariable codec("CASYNC_CODEC", "int4:block");
  CHECK(refusal(zeroed()).starts_with("InvalidArgument: CASYNC_CODEC: \"int4:block\": `block` is no key=number"));
}

TEST_CASE("options: a program with a newer struct is understood as long as what is new is zero") {
  const CleanEnvironment clean;
  struct Newer {
    casync_session_options known;
    void* stream;
  } newer;
  std::memset(&newer, 0, sizeof newer);
  newer.known = zeroed();
  newer.known.struct_size = sizeof newer;
  newer.known.timeout_s = 3;
  CHECK(session_options(&newer.known)->timeout_s == 3);
  newer.stream = &newer;
  CHECK_THAT(refusal(newer.known), Catch::Contains("a field that this library does not know"));
}

TEST_CASE("options: a store is both functions, whose failures become ours") {
  const CleanEnvironment clean;
  auto options = zeroed();
  std::map<std::string, std::string> values;
  options.store_user = &values;
  options.store_set = [](void* user, const char* key, const void* value, size_t length) {
    (*static_cast<std::map<std::string, std::string>*>(user))[key].assign(static_cast<const char*>(value), length);
    return std::strcmp(key, "refused") == 0 ? 3 : 0;
  };
  CHECK(refusal(options) == "InvalidArgument: store_set and store_get belong together: only one of them is set");
  options.store_get = [](void* user, const char* key, void* value, size_t capacity, size_t* length, double) {
    const auto& known = *static_cast<std::map<std::string, std::string>*>(user);
    const auto found = known.find(key);
    if (std::strcmp(key, "broken") == 0) return static_cast<int>(CASYNC_UNAVAILABLE);
    if (found == known.end()) return 1;
    *length = found->second.size();
    std::memcpy(value, found->second.data(), std::min(capacity, *length));
    return 0;
  };
  const runtime::StoreFunctions store = session_options(&options)->store;
  const std::string large(100000, 'x');
  CHECK(store.set("a", large).is_ok());
  CHECK(*store.get("a", 1) == large);
  CHECK(store.set("empty", "").is_ok());
  CHECK(store.get("empty", 1)->empty());
  CHECK(store.set("refused", "").text() ==
        "Unavailable: the program's store did not take refused (store_set returned 3)");
  CHECK(store.get("missing", 0.5).status().code() == StatusCode::kTimeout);
  CHECK(store.get("broken", 0.5).status().text() ==
        "Unavailable: the program's store has failed (store_get of broken returned CASYNC_UNAVAILABLE)");
  values["huge"].resize((1 << 20) + 1);
  CHECK(store.get("huge", 1).status().code() == StatusCode::kInternal);
}

}  // namespace casync::c_api
