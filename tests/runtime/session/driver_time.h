// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "tests/compll/cuda/emulated/streams.h"
#include "tests/runtime/session/gpu.h"

namespace casync::test {

/// The emulated driver's time in the hands of a test: it stands still but for what the test says. Its functions are
/// called by one thread.
class DriverTime {
 public:
  DriverTime() { compll::emulated::set_time(0); }
  ~DriverTime() { compll::emulated::take_host_time(); }
  DriverTime(const DriverTime&) = delete;
  DriverTime& operator=(const DriverTime&) = delete;

  /// Queues work that takes so long in the program's stream. All such work is in this one.
  void computes(Program& program, double ms) {
    const double& end = ends_.emplace_back(now_ms_ += ms);
    const auto set = [](void* at) { compll::emulated::set_time(*static_cast<const double*>(at)); };
    program.context([&](const auto& api) { api.call_host(program.stream(), set, const_cast<double*>(&end)); });
  }
  /// Lets time pass while the device, which has done all that is queued, has nothing to do.
  void passes(Program& program, double ms) {
    program.context([&](const auto& api) { api.wait_for_stream(program.stream()); });
    compll::emulated::set_time(now_ms_ += ms);
  }

 private:
  double now_ms_ = 0;
  std::deque<double> ends_;  ///< of all work: the device reads them late
};

}  // namespace casync::test
