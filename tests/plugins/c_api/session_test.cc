// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/c_api/casync.h"
#include "tests/plugins/c_api/session_support.h"
#include "tests/support/temporary_directory.h"

using casync::test::last_error;
using casync::test::refusal;
using casync::test::Session;

namespace {

/// CASYNC_TRACE while it lives.
struct TraceFolder {
  explicit TraceFolder(const std::string& folder) { setenv("CASYNC_TRACE", folder.c_str(), 1); }
  ~TraceFolder() { unsetenv("CASYNC_TRACE"); }
};

}  // namespace

TEST_CASE("c session: one rank alone gets back what its codec makes of its gradient") {
  const Session session("none");
  int32_t rank = -1, size = -1;
  REQUIRE(casync_session_rank(session.handle, &rank, &size) == CASYNC_OK);
  CHECK(rank == 0);
  CHECK(size == 1);
  double limit = 0;
  REQUIRE(casync_session_timeout(session.handle, &limit) == CASYNC_OK);
  CHECK(limit == 20);
  const uint32_t id = session.declare("w", 1000);
  std::vector<float> values(1000, 1.5f);
  CHECK(session.reduce(id, &values));
  CHECK(values == std::vector<float>(1000, 1.5f));
  const nlohmann::json stats = session.text(casync_session_stats);
  CHECK(stats.at("steps") == 1);
  CHECK(stats.at("transport").is_string());
}

TEST_CASE("c session: state goes out and comes back with its residuals") {
  const Session first("int4");
  std::vector<float> values(500);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  CHECK(first.reduce(first.declare("w", 500), &values));
  const nlohmann::json state = first.text(casync_session_state);
  REQUIRE(state.at("gradients").at("w").at("elements") == 500);
  const std::string codec = state["gradients"]["w"]["codec"], json = state.dump();
  std::vector<float> residual(500);
  REQUIRE(casync_session_state_get(first.handle, "w", residual.data(), 500) == CASYNC_OK);
  CHECK(std::any_of(residual.begin(), residual.end(), [](float value) { return value != 0; }));

  const Session second("int4");
  const uint32_t id = second.declare("w", 500);
  REQUIRE(casync_session_state_set(second.handle, nullptr, json.c_str(), nullptr, 0, 0) == CASYNC_OK);
  const casync_status set = casync_session_state_set(second.handle, "w", codec.c_str(), residual.data(), 500, 1);
  INFO(last_error());
  REQUIRE(set == CASYNC_OK);
  // The same next gradient gives the same bytes on both.
  std::vector<float> a(500, 0.3f), b = a;
  CHECK(first.reduce(0, &a));
  CHECK(second.reduce(id, &b));
  CHECK(a == b);
}

TEST_CASE("c session: a state is taken once, however much room its text turns out to need") {
  const Session session("int4");
  const uint32_t id = session.declare("w", 500);
  std::vector<float> values(500, 0.7f);
  CHECK(session.reduce(id, &values));
  std::vector<char> text(10);
  std::size_t length = 0;
  REQUIRE(casync_session_state(session.handle, text.data(), text.size(), &length) == CASYNC_OK);
  REQUIRE(length > text.size());
  // A state that is taken now has another gradient.
  std::vector<float> others(100, 0.7f);
  casync_submission other{};
  other.struct_size = sizeof other;
  other.gradient = session.declare("x", 100);
  other.data = others.data();
  other.bytes = 400;
  casync_handle handle = 0;
  REQUIRE(casync_session_submit_each(session.handle, 1, &other, &handle) == CASYNC_OK);
  REQUIRE(casync_session_wait(session.handle, handle, -1) == CASYNC_OK);
  text.resize(length + 1);
  REQUIRE(casync_session_state(session.handle, text.data(), text.size(), &length) == CASYNC_OK);
  CHECK(nlohmann::json::parse(text.data()).at("gradients").size() == 1);
  CHECK(session.text(casync_session_state).at("gradients").size() == 2);
  int32_t finite = 0;
  CHECK(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_OK);
}

TEST_CASE("c session: a state that was taken ahead of a load is not given after it") {
  const Session session("int4");
  const uint32_t id = session.declare("w", 500);
  std::vector<float> values(500, 0.7f), residual(500);
  CHECK(session.reduce(id, &values));
  const std::string early = session.text(casync_session_state).dump();
  const std::string codec = nlohmann::json::parse(early)["gradients"]["w"]["codec"];
  REQUIRE(casync_session_state_get(session.handle, "w", residual.data(), 500) == CASYNC_OK);
  CHECK(session.reduce(id, &values));
  std::vector<char> text(10);
  std::size_t length = 0;
  REQUIRE(casync_session_state(session.handle, text.data(), text.size(), &length) == CASYNC_OK);  // of step 2
  REQUIRE(casync_session_state_set(session.handle, nullptr, early.c_str(), nullptr, 0, 0) == CASYNC_OK);
  REQUIRE(casync_session_state_set(session.handle, "w", codec.c_str(), residual.data(), 500, 1) == CASYNC_OK);
  std::vector<float> given(500);
  CHECK(casync_session_state_get(session.handle, "w", given.data(), 500) == CASYNC_INVALID_ARGUMENT);
  text.resize(length + 1);
  REQUIRE(casync_session_state(session.handle, text.data(), text.size(), &length) == CASYNC_OK);
  CHECK(nlohmann::json::parse(text.data()).at("step") == 1);
  REQUIRE(casync_session_state_get(session.handle, "w", given.data(), 500) == CASYNC_OK);
  CHECK(given == residual);
}

TEST_CASE("c session: pieces of a state that do not belong together are refused by name") {
  const Session session("int4");
  const auto set = [&](const char* name, const char* codec, const float* data, std::size_t elements, uint32_t step) {
    CHECK(casync_session_state_set(session.handle, name, codec, data, elements, step) == CASYNC_INVALID_ARGUMENT);
    return last_error();
  };
  const float values[2] = {1, 2};
  CHECK(set("w", "c", values, 2, 3).starts_with("give the state's JSON first"));
  CHECK(set(nullptr, nullptr, nullptr, 0, 0).find("is NULL") != std::string::npos);
  CHECK(set(nullptr, "{", nullptr, 0, 0).starts_with("the state's JSON is not what casync_session_state gives"));
  CHECK(set(nullptr, "{\"step\":1}", nullptr, 0, 0).find("ranks") != std::string::npos);
  for (const char* number : {"-1", "4294967296", "1.5", "\"1\"", "null"}) {
    const std::string text = std::string("{\"step\":") + number + R"(,"ranks":1,"rank":0,"gradients":{}})";
    CHECK(set(nullptr, text.c_str(), nullptr, 0, 0) ==
          std::string("the state's step is ") + number + ", expected a whole number from 0 to 4294967295");
  }
  CHECK(set(nullptr, R"({"step":1,"ranks":4294967297,"rank":0,"gradients":{}})", nullptr, 0, 0)
            .starts_with("the state's ranks is 4294967297, expected"));
  const std::string begin = R"({"step":3,"ranks":1,"rank":0,"gradients":{"w":{"codec":"c","elements":2,"op":"sum",)";
  CHECK(set(nullptr, (begin + R"("owned":[[-1,2]]}}})").c_str(), nullptr, 0, 0)
            .starts_with("the state's first is -1, expected a whole number"));
  CHECK(set(nullptr, (begin + R"("sent":[1]}}})").c_str(), nullptr, 0, 0)
            .starts_with("the state's JSON is not what casync_session_state gives"));
  const char* json = R"({"step":3,"ranks":1,"rank":0,"gradients":{"w":{"codec":"c","elements":2}}})";
  REQUIRE(casync_session_state_set(session.handle, nullptr, json, nullptr, 0, 0) == CASYNC_OK);
  CHECK(set("v", "c", values, 2, 3) == "gradient v is not in the state's JSON, or was given already");
  CHECK(set("w", "c", values, 2, 4) == "gradient w is of step 4, the state's JSON of step 3");
  CHECK(set("w", "d", values, 2, 3) == "gradient w is of d, in the state's JSON of c");
  CHECK(set("w", "c", nullptr, 2, 3) == "`residual` is NULL");
  const char* other = R"({"step":3,"ranks":4,"rank":2,"gradients":{}})";
  CHECK(set(nullptr, other, nullptr, 0, 0).find("rank 2 of 4") != std::string::npos);
  float out[2];
  CHECK(casync_session_state_get(session.handle, "w", out, 2) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().starts_with("call casync_session_state first"));
}

TEST_CASE("c session: a step with NaN says so, with the gradient's name cut to the room there is") {
  const Session session("int8");
  const uint32_t id = session.declare("layer.weight", 64);
  std::vector<float> values(64, 1.0f);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  char name[32] = "";
  CHECK(!session.reduce(id, &values, name, sizeof name));
  CHECK(std::string(name) == "layer.weight");
  values.assign(64, std::numeric_limits<float>::infinity());
  CHECK(!session.reduce(id, &values, name, 6));
  CHECK(std::string(name) == "layer");
}

TEST_CASE("c session: a scattered gradient of one rank is all its own, and no other is declared like it") {
  const Session session("int8");
  const int64_t elements = 64;
  uint32_t id = 0, again = 1;
  REQUIRE(casync_session_declare_scattered(session.handle, "w", CASYNC_FLOAT32, &elements, 1, 0, &id) == CASYNC_OK);
  std::vector<float> values(64, 1.5f), given = values;
  CHECK(session.reduce(id, &values));
  CHECK(values == given);
  CHECK(casync_session_declare_scattered(session.handle, "w", CASYNC_FLOAT32, &elements, 1, 0, &again) == CASYNC_OK);
  CHECK(again == id);
  CHECK(casync_session_declare(session.handle, "w", CASYNC_FLOAT32, &elements, 1, 0, &again) ==
        CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().find(", scattered, int8") != std::string::npos);
  CHECK(casync_session_declare_scattered(session.handle, nullptr, CASYNC_FLOAT32, &elements, 1, 0, &again) ==
        CASYNC_INVALID_ARGUMENT);
}

TEST_CASE("c session: with op copy bytes are declared, and gradients, which are summed") {
  const Session session("none", 20, "copy");
  uint32_t id = 0, again = 1;
  REQUIRE(casync_session_declare_copied(session.handle, "w", 16, 0, &id) == CASYNC_OK);
  REQUIRE(casync_session_declare_copied(session.handle, "all", 16, -1, &again) == CASYNC_OK);
  CHECK(again != id);
  std::vector<float> values = {1, -0.0f, 3, 4}, given = values;
  CHECK(session.reduce(id, &values));
  CHECK(std::memcmp(values.data(), given.data(), 16) == 0);
  const auto refused = [&](const char* name, std::size_t bytes, int32_t root, uint32_t* out) {
    CHECK(casync_session_declare_copied(session.handle, name, bytes, root, out) == CASYNC_INVALID_ARGUMENT);
    return last_error();
  };
  CHECK(refused("w", 20, 0, &id).find("was declared as 16 bytes, from rank 0") != std::string::npos);
  CHECK(refused("w", 16, -1, &id).find("of each rank a shard") != std::string::npos);
  CHECK(refused("x", 6, 0, &id) == "x: 6 bytes, expected a multiple of 4");
  CHECK(refused("x", 4, 1, &id).find("root is 1: the ranks are 0 to 0") != std::string::npos);
  CHECK(refused(nullptr, 4, 0, &id) == "`name` is NULL");
  CHECK(refused("x", 4, 0, nullptr) == "`id` is NULL");
  const int64_t elements = 4;
  REQUIRE(casync_session_declare(session.handle, "g", CASYNC_FLOAT32, &elements, 1, 0, &id) == CASYNC_OK);
  CHECK(session.reduce(id, &values));
  CHECK(values == given);  // of one rank
  const Session reduces("none");
  CHECK(casync_session_declare_copied(reduces.handle, "w", 16, 0, &id) == CASYNC_INVALID_ARGUMENT);
}

TEST_CASE("c session: wrong arguments are refused by name and start nothing") {
  const Session session("none");
  uint32_t id = 0;
  const int64_t shape[1] = {4};
  const auto declare = [&](const char* name, int dtype, const int64_t* extents, std::size_t dimensions, uint32_t* out) {
    CHECK(casync_session_declare(session.handle, name, static_cast<casync_dtype>(dtype), extents, dimensions, 0, out) ==
          CASYNC_INVALID_ARGUMENT);
    return last_error();
  };
  CHECK(declare(nullptr, 1, shape, 1, &id) == "`name` is NULL");
  CHECK(declare("w", 1, nullptr, 1, &id) == "`shape` is NULL");
  CHECK(declare("w", 1, shape, 1, nullptr) == "`id` is NULL");
  CHECK(declare("w", 0, shape, 1, &id) == "gradient w: dtype 0, expected 1 (float32), 2 (float16) or 3 (bfloat16)");
  CHECK(declare("w", 1, shape, 65, &id) == "gradient w: 65 dimensions, expected at most 64");
  CHECK(declare("\xff", 1, shape, 1, &id) == "a gradient's name is not UTF-8");
  const int64_t negative[1] = {-4};
  CHECK(declare("w", 1, negative, 1, &id).find("-4") != std::string::npos);

  float values[4] = {};
  void* data = values;
  const std::size_t bytes = sizeof values;
  casync_handle submission = 0;
  const auto submit = [&](const uint32_t* ids, void* const* pointers, const size_t* sizes, casync_handle* handles) {
    CHECK(casync_session_submit(session.handle, 1, ids, pointers, sizes, handles) == CASYNC_INVALID_ARGUMENT);
    return last_error();
  };
  CHECK(submit(nullptr, &data, &bytes, &submission) == "`ids` is NULL");
  CHECK(submit(&id, nullptr, &bytes, &submission) == "`data` is NULL");
  CHECK(submit(&id, &data, nullptr, &submission) == "`bytes` is NULL");
  CHECK(submit(&id, &data, &bytes, nullptr) == "`handles` is NULL");
  void* nothing = nullptr;
  CHECK(submit(&id, &nothing, &bytes, &submission) == "data[0] is NULL");
  id = 99;
  CHECK(submit(&id, &data, &bytes, &submission) == "no gradient has the id 99");

  CHECK(refusal(casync_session_wait(session.handle, 0, std::nan(""))) == "timeout_s is not a number");
  CHECK(refusal(casync_session_note_exposed(session.handle, 0, -1)).starts_with("exposed for -1"));
  CHECK(refusal(casync_session_note_exposed(session.handle, 0, std::nan(""))).starts_with("exposed for nan s"));
  CHECK(refusal(casync_session_done(session.handle, 0, nullptr)) == "`done` is NULL");
  CHECK(refusal(casync_session_step(session.handle, nullptr, nullptr, 0)) == "`finite` is NULL");
  CHECK(refusal(casync_session_rank(session.handle, nullptr, nullptr)) == "`rank` is NULL");
  CHECK(refusal(casync_session_timeout(session.handle, nullptr)) == "`seconds` is NULL");
  CHECK(refusal(casync_session_stats(session.handle, nullptr, 0, nullptr)) == "`length` is NULL");
  CHECK(refusal(casync_session_state(session.handle, nullptr, 4, nullptr)) == "`length` is NULL");
  CHECK(refusal(casync_session_abort(session.handle, nullptr)) == "`reason` is NULL");
}

TEST_CASE("c session: every function refuses no session") {
  int32_t number = 0;
  uint32_t id = 0;
  std::size_t length = 0;
  const auto refused = [](casync_status status) {
    return status == CASYNC_INVALID_ARGUMENT && last_error() == "`session` is NULL";
  };
  CHECK(refused(casync_session_open(nullptr, nullptr)));
  CHECK(refused(casync_session_rank(nullptr, &number, &number)));
  CHECK(refused(casync_session_declare(nullptr, "w", CASYNC_FLOAT32, nullptr, 0, 0, &id)));
  CHECK(refused(casync_session_submit(nullptr, 0, nullptr, nullptr, nullptr, nullptr)));
  CHECK(refused(casync_session_wait(nullptr, 0, 1)));
  CHECK(refused(casync_session_wait_hidden(nullptr, 0, 1)));
  CHECK(refused(casync_session_note_exposed(nullptr, 0, 1)));
  CHECK(refused(casync_session_timeout(nullptr, nullptr)));
  CHECK(refused(casync_session_end_submissions(nullptr)));
  CHECK(refused(casync_session_exchanged(nullptr, &number)));
  CHECK(refused(casync_session_begin_consensus(nullptr)));
  CHECK(refused(casync_session_done(nullptr, 0, &number)));
  CHECK(refused(casync_session_step(nullptr, &number, nullptr, 0)));
  CHECK(refused(casync_session_stats(nullptr, nullptr, 0, &length)));
  CHECK(refused(casync_session_state(nullptr, nullptr, 0, &length)));
  CHECK(refused(casync_session_state_get(nullptr, "w", nullptr, 0)));
  CHECK(refused(casync_session_state_set(nullptr, nullptr, "{}", nullptr, 0, 0)));
  CHECK(refused(casync_session_abort(nullptr, "why")));
  CHECK(refused(casync_session_close(nullptr)));
  casync_session_free(nullptr);
}

TEST_CASE("c session: a plan is checked without a session") {
  const casync::test::TemporaryDirectory folder;
  const std::string path = folder.path() + "/plan.txtpb";
  const auto checked = [&](const std::string& text) {
    std::ofstream(path) << text;
    return casync_plan_check(path.c_str());
  };
  CHECK(
      checked("version: 1 default { codec { name: \"int8\" } } rule { match: \"*\" codec { file: \"mine.cll\" } }\n") ==
      CASYNC_OK);
  CHECK(checked("version: 1 default { codec { file: \"/codecs/mine\" } }\n") == CASYNC_OK);
  CHECK(checked("version: 1 default { codec { name: \"powersgd\" param { key: \"rank\" value: 2 } } }\n") == CASYNC_OK);
  CHECK(checked("version: 1 default { codec { name: \"int9\" } }\n") == CASYNC_PLAN_ERROR);
  CHECK_THAT(last_error(), Catch::Contains("default: no codec is called `int9` (did you mean `int8`?)"));
  CHECK(checked("version: 1 rule { match: \"*.b\" codec { name: \"int4\" param { key: \"block\" value: 63 } } }\n") ==
        CASYNC_PLAN_ERROR);
  CHECK_THAT(last_error(), Catch::Contains("rule `*.b`: codec `int4`: parameter `block` is 63"));
  CHECK(checked("version: 1 defalt { }\n") == CASYNC_PLAN_ERROR);
  CHECK_THAT(last_error(), Catch::Contains("did you mean `default`"));
  CHECK(casync_plan_check((path + "x").c_str()) == CASYNC_INVALID_ARGUMENT);
  CHECK(casync_plan_check(nullptr) == CASYNC_INVALID_ARGUMENT);
}

TEST_CASE("c session: a failed open leaves no session behind") {
  auto* session = reinterpret_cast<casync_session*>(&last_error);
  CHECK(casync_session_open(nullptr, &session) == CASYNC_INVALID_ARGUMENT);
  CHECK(session == nullptr);
  casync_session_options options;
  std::memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.size = 1;
  options.plan = "/nonexistent/plan.txtpb";
  options.transport = "loopback";
  CHECK(casync_session_open(&options, &session) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "plan file /nonexistent/plan.txtpb: no such file");
  options.plan = nullptr;
  options.codec = "int5";
  CHECK(casync_session_open(&options, &session) == CASYNC_INVALID_ARGUMENT);
  CHECK(session == nullptr);
}

TEST_CASE("c session: closing twice does nothing, and all else is Aborted") {
  const Session session("none");
  CHECK(casync_session_close(session.handle) == CASYNC_OK);
  CHECK(casync_session_close(session.handle) == CASYNC_OK);
  int32_t finite = 0;
  CHECK(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_ABORTED);
  CHECK(last_error() == "the session is closed");
}

TEST_CASE("c session: a forked child gets Unavailable from everything and frees without waiting") {
  Session session("none");
  const uint32_t id = session.declare("w", 100);
  std::vector<float> values(100, 1.0f);
  CHECK(session.reduce(id, &values));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // hanging is what must not happen
    void* data = values.data();
    const std::size_t bytes = 400;
    casync_handle submission = 0;
    int32_t number = 0;
    std::size_t length = 0;
    const casync_status all[] = {casync_session_submit(session.handle, 1, &id, &data, &bytes, &submission),
                                 casync_session_wait(session.handle, 0, 1),
                                 casync_session_step(session.handle, &number, nullptr, 0),
                                 casync_session_stats(session.handle, nullptr, 0, &length),
                                 casync_session_state(session.handle, nullptr, 0, &length),
                                 casync_session_state_set(session.handle, nullptr, "{}", nullptr, 0, 0),
                                 casync_session_abort(session.handle, "why"),
                                 casync_session_close(session.handle)};
    casync_session_free(session.handle);
    const bool right = std::all_of(std::begin(all), std::end(all), [](auto one) { return one == CASYNC_UNAVAILABLE; });
    _exit(right ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(session.reduce(id, &values));  // the parent goes on
}

TEST_CASE("c session: the exposed time is that for which the program stood still") {
  const casync::test::TemporaryDirectory folder;
  {
    const TraceFolder variable(folder.path());
    const Session session("none");
    const uint32_t id = session.declare("w", 100);
    std::vector<float> values(100, 1.0f);
    void* data = values.data();
    const std::size_t bytes = 400;
    casync_handle submission = 0;
    int32_t finite = 0;
    REQUIRE(casync_session_submit(session.handle, 1, &id, &data, &bytes, &submission) == CASYNC_OK);
    REQUIRE(casync_session_wait_hidden(session.handle, submission, -1) == CASYNC_OK);
    REQUIRE(casync_session_note_exposed(session.handle, submission, 0.25) == CASYNC_OK);
    REQUIRE(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_OK);
    REQUIRE(casync_session_close(session.handle) == CASYNC_OK);
  }
  std::ifstream file(folder.path() + "/rank0.trace.json");
  const nlohmann::json trace = nlohmann::json::parse(file);
  CHECK(trace.at("casync").at("gradients").at(0).at("exposed_ms") == 250.0);
}
