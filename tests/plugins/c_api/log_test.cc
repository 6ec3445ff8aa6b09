// SPDX-License-Identifier: Apache-2.0
// The library's log, handed to the program.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "plugins/c_api/casync.h"
#include "tests/environment/scoped_variable.h"
#include "tests/plugins/c_api/session_support.h"

using casync::ScopedVariable;
using casync::test::last_error;
using casync::test::Session;

namespace {

struct Line {
  casync_log_level level;
  std::string text;    ///< as much of it as there was room for
  std::size_t length;  ///< of all of it
};

Line next_line(std::size_t capacity = 4096) {
  std::vector<char> text(capacity, 'x');
  Line line{CASYNC_LOG_ERROR, "", 1};
  REQUIRE(casync_log_next(0, &line.level, text.data(), capacity, &line.length) == CASYNC_OK);
  line.text = text.data();
  return line;
}

}  // namespace

TEST_CASE("c log: lines go to one reader from its beginning to its end, and one that does not fit stays") {
  const ScopedVariable none("CASYNC_LOG_LEVEL", nullptr);
  for (const int level : {0, 6}) {
    CHECK(casync_log_begin(static_cast<casync_log_level>(level)) == CASYNC_INVALID_ARGUMENT);
    CHECK(last_error() == "`level` is " + std::to_string(level) + ", expected 1 (trace) to 5 (error)");
  }
  REQUIRE(casync_log_begin(CASYNC_LOG_INFO) == CASYNC_OK);
  CHECK(casync_log_begin(CASYNC_LOG_INFO) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "the log of this process has a reader already");
  std::size_t length = 0;
  CHECK(casync_log_next(0, nullptr, nullptr, 0, &length) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "`level` is NULL");
  const Line nothing = next_line();
  CHECK(nothing.level == CASYNC_LOG_NOTHING);
  CHECK(nothing.text.empty());
  CHECK(nothing.length == 0);

  const Session session("none");  // says who it is
  const Line cut = next_line(8);
  casync_log_level level = CASYNC_LOG_ERROR;
  char text[4096];
  CHECK(casync_log_next(0, &level, nullptr, sizeof text, &length) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "`text` is NULL");
  CHECK(casync_log_next(0, &level, text, sizeof text, nullptr) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "`length` is NULL");
  const Line whole = next_line();  // the refused calls have taken none
  CHECK(cut.level >= CASYNC_LOG_INFO);
  CHECK(cut.text.size() == 7);
  CHECK(cut.length > 7);
  CHECK(whole.level == cut.level);
  CHECK(whole.text.starts_with(cut.text));
  CHECK(whole.text.size() == cut.length);
  CHECK(whole.length == cut.length);
  CHECK(next_line().text != whole.text);

  CHECK(casync_log_end() == CASYNC_OK);
  CHECK(next_line().level == CASYNC_LOG_NOTHING);
  CHECK(casync_log_begin(CASYNC_LOG_ERROR) == CASYNC_OK);
  CHECK(casync_log_end() == CASYNC_OK);
}

TEST_CASE("c log: a wait for ever lasts until the reading ends, and one that is no number is refused") {
  REQUIRE(casync_log_begin(CASYNC_LOG_WARN) == CASYNC_OK);
  casync_log_level level = CASYNC_LOG_ERROR;
  char text[200];
  std::size_t length = 0;
  const auto next = [&](double wait_s) { return casync_log_next(wait_s, &level, text, sizeof text, &length); };
  CHECK(next(std::numeric_limits<double>::quiet_NaN()) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().find("`wait_s` is not a number") == 0);
  std::atomic<bool> ending{false};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ending = true;
    static_cast<void>(casync_log_end());
  });
  CHECK(next(std::numeric_limits<double>::infinity()) == CASYNC_OK);
  CHECK(ending);
  CHECK(level == CASYNC_LOG_NOTHING);
  other.join();
}
