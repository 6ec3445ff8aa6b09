// SPDX-License-Identifier: Apache-2.0
//
// A framework's operations of which one does not end: a plugin for test_attached.py.
#include <future>

#include "plugins/native/flights.h"

namespace {

std::promise<void> let_go, reached, ended;

}  // namespace

extern "C" {
#pragma GCC visibility push(default)
/// Returns once the operation has begun to end, or a casync_status.
int casync_plugin_stuck_reduce(int session, std::uint32_t gradient, void* data, std::size_t bytes) {
  const casync::native::Outcome submitted =
      casync::native::find(session)->submit(gradient, data, bytes, [](const casync::native::Outcome&) {
        reached.set_value();
        let_go.get_future().wait();
        ended.set_value();
      });
  if (submitted.ok()) reached.get_future().wait();
  return submitted.status;
}

void casync_plugin_stuck_let_go() {
  let_go.set_value();
  ended.get_future().wait();
}
#pragma GCC visibility pop
}
