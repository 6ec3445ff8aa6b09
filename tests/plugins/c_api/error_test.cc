// SPDX-License-Identifier: Apache-2.0
#include "plugins/c_api/error.h"

#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>
#include <thread>

namespace casync::c_api {

TEST_CASE("c api: no exception leaves an entry, whatever it is") {
  CHECK(guarded([]() -> Status { throw std::bad_alloc(); }) == CASYNC_INTERNAL);
  CHECK(std::string(casync_last_error()) == "out of memory");
  CHECK(guarded([]() -> Status { throw std::runtime_error("why"); }) == CASYNC_INTERNAL);
  CHECK(std::string(casync_last_error()) == "unexpected exception: why");
  CHECK(guarded([]() -> Status { throw 3; }) == CASYNC_INTERNAL);
  CHECK(std::string(casync_last_error()) == "unknown");
}

TEST_CASE("c api: the last error is the last call's, and none after a success") {
  CHECK(guarded([] { return data_loss("bytes"); }) == CASYNC_DATA_LOSS);
  CHECK(std::string(casync_last_error()) == "bytes");
  CHECK(guarded([] { return Status::ok(); }) == CASYNC_OK);
  CHECK(std::string(casync_last_error()).empty());
}

TEST_CASE("c api: each thread has a last error of its own") {
  CHECK(guarded([] { return timeout_error("of the main thread"); }) == CASYNC_TIMEOUT);
  std::string before, after;
  std::thread other([&] {
    before = casync_last_error();
    if (guarded([] { return aborted("of the other thread"); }) == CASYNC_ABORTED) after = casync_last_error();
  });
  other.join();
  CHECK(before.empty());
  CHECK(after == "of the other thread");
  CHECK(std::string(casync_last_error()) == "of the main thread");
}

}  // namespace casync::c_api
