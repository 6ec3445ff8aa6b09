// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "plugins/c_api/casync.h"

namespace casync::test {

inline std::string last_error() { return casync_last_error(); }

/// The last error of a call that refuses its arguments.
inline std::string refusal(casync_status status) {
  return status == CASYNC_INVALID_ARGUMENT ? last_error() : "not refused";
}

/// Asks again and again, for a minute at most. Returns false if it never became true.
template <class Condition>
bool comes_true(const Condition& is_true) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A session of one rank.
struct Session {
  explicit Session(const char* codec, double timeout_s = 20, const char* op = nullptr) {
    casync_session_options options;
    std::memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.size = 1;
    options.codec = codec;
    options.op = op;
    options.transport = "loopback";
    options.timeout_s = timeout_s;
    const casync_status opened = casync_session_open(&options, &handle);
    INFO(last_error());
    REQUIRE(opened == CASYNC_OK);
  }
  ~Session() { casync_session_free(handle); }

  uint32_t declare(const char* name, int64_t elements) const {
    uint32_t id = 0;
    REQUIRE(casync_session_declare(handle, name, CASYNC_FLOAT32, &elements, 1, 0, &id) == CASYNC_OK);
    return id;
  }
  /// Submits, waits, ends the step. Returns true if the step was finite.
  bool reduce(uint32_t id, std::vector<float>* values, char* name = nullptr, std::size_t capacity = 0) const {
    void* data = values->data();
    const std::size_t bytes = values->size() * sizeof(float);
    casync_handle submission = 0;
    REQUIRE(casync_session_submit(handle, 1, &id, &data, &bytes, &submission) == CASYNC_OK);
    REQUIRE(casync_session_wait(handle, submission, -1) == CASYNC_OK);
    int32_t done = 0, finite = -1;
    REQUIRE(casync_session_done(handle, submission, &done) == CASYNC_OK);
    CHECK(done == 1);
    REQUIRE(casync_session_step(handle, &finite, name, capacity) == CASYNC_OK);
    return finite == 1;
  }
  nlohmann::json text(casync_status (*function)(casync_session*, char*, size_t, size_t*)) const {
    std::vector<char> buffer(1 << 16);
    std::size_t length = 0;
    REQUIRE(function(handle, buffer.data(), buffer.size(), &length) == CASYNC_OK);
    return nlohmann::json::parse(buffer.data());
  }

  casync_session* handle = nullptr;
};

}  // namespace casync::test
