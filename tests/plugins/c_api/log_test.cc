// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <thread>

#include "plugins/c_api/casync.h"
#include "tests/plugins/c_api/session_support.h"

using casync::test::last_error;

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
