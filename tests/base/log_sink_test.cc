// SPDX-License-Identifier: Apache-2.0
#include "base/log_sink.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <sstream>
#include <thread>

namespace casync {
namespace {

/// A log whose stderr is a text.
struct TestLog {
  std::ostringstream text;
  std::shared_ptr<LogSink> sink = std::make_shared<LogSink>(std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  spdlog::logger logger{"casync", sink};

  TestLog() { logger.set_pattern("[%l] %v"); }
};

}  // namespace

TEST_CASE("log: lines go to stderr while nobody reads") {
  TestLog log;
  log.logger.warn("one {}", 1);
  CHECK(log.text.str() == "[warning] one 1\n");
  CHECK_FALSE(log.sink->wait_for_line(Seconds(0)));
  CHECK_FALSE(log.sink->take(100));
}

TEST_CASE("log: a reader gets lines in their order, with their levels, and stderr gets none of them") {
  TestLog log;
  REQUIRE(log.sink->begin_reading());
  log.logger.warn("first");
  log.logger.error("second");
  REQUIRE(log.sink->wait_for_line(Seconds(0)));
  const std::optional<LogLine> first = log.sink->take(100), second = log.sink->take(100);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->text == "first");
  CHECK(first->level == spdlog::level::warn);
  CHECK(second->text == "second");
  CHECK(second->level == spdlog::level::err);
  CHECK_FALSE(log.sink->take(100));
  CHECK(log.text.str().empty());
}

TEST_CASE("log: a line that does not fit stays") {
  TestLog log;
  REQUIRE(log.sink->begin_reading());
  log.logger.warn("a long line");
  CHECK(log.sink->take(3)->text == "a long line");
  CHECK(log.sink->take(11)->text == "a long line");
  CHECK_FALSE(log.sink->take(11));
}

TEST_CASE("log: once reading ends, the lines that wait go to stderr, as do later ones") {
  TestLog log;
  REQUIRE(log.sink->begin_reading());
  log.logger.warn("waits");
  log.sink->end_reading();
  log.logger.warn("later");
  CHECK(log.text.str() == "[warning] waits\n[warning] later\n");
  CHECK(log.sink->begin_reading());
}

TEST_CASE("log: a reader that waits for ever gets the line that comes") {
  for (const double seconds : {1e10, 1e300, std::numeric_limits<double>::infinity()}) {
    TestLog log;
    REQUIRE(log.sink->begin_reading());
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      log.logger.warn("late");
    });
    CHECK(log.sink->wait_for_line(Seconds(seconds)));
    other.join();
    CHECK(log.sink->take(100)->text == "late");
  }
  CHECK(after(Seconds(-std::numeric_limits<double>::infinity())) < Clock::now());
}

TEST_CASE("log: one process has one reader") {
  TestLog log;
  REQUIRE(log.sink->begin_reading());
  CHECK(log.sink->begin_reading().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("log: a reader that takes nothing does not make the log grow: later lines go to stderr") {
  TestLog log;
  REQUIRE(log.sink->begin_reading());
  for (std::size_t i = 0; i < LogSink::kMostWaiting; ++i) log.logger.warn("kept");
  CHECK(log.text.str().empty());
  log.logger.warn("too many");
  CHECK(log.text.str() == "[warning] too many\n");
}

TEST_CASE("log: a wait ends when a line comes, and when reading ends") {
  TestLog log;
  REQUIRE(log.sink->begin_reading());
  std::thread writer([&] { log.logger.warn("comes"); });
  CHECK(log.sink->wait_for_line(Seconds(60)));
  writer.join();
  REQUIRE(log.sink->take(100));
  std::thread ending([&] { log.sink->end_reading(); });
  CHECK_FALSE(log.sink->wait_for_line(Seconds(60)));
  ending.join();
}

TEST_CASE("log: a child after a fork writes to stderr, and may read for itself") {
  TestLog log;
  REQUIRE(log.sink->begin_reading());
  std::thread reader([&] {  // waits while the process forks
    while (log.sink->wait_for_line(Seconds(60))) log.sink->take(100);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    log.logger.warn("of the child");
    const bool to_stderr = log.text.str() == "[warning] of the child\n";
    bool reads = log.sink->begin_reading().is_ok() && !log.sink->take(100);
    log.logger.warn("to the child's reader");
    reads = reads && log.sink->wait_for_line(Seconds(0)) && log.sink->take(100)->text == "to the child's reader";
    ::_exit(to_stderr && reads ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  log.sink->end_reading();
  reader.join();
}

}  // namespace casync
