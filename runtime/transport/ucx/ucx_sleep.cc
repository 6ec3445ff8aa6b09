// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_sleep.h"

#include <algorithm>
#include <thread>

namespace casync::runtime {

bool UcxSleep::wait(Clock::time_point deadline) {
  if (has_news()) return false;
  const Clock::time_point start = Clock::now();
  const Clock::duration spin = refused_ == 0 ? spin_.length() : Clock::duration::zero();
  const Clock::time_point spin_end = std::min(deadline, start + spin);
  while (true) {
    if (worker_.progress() || has_news()) {
      refused_ = 0;
      return true;
    }
    if (Clock::now() >= spin_end) break;
    // The program's thread or another rank may want this core: polling without this made a step of 64 KiB three times
    // as long on two cores.
    std::this_thread::yield();
  }
  if (!worker_.arm()) {
    // Usually an event that the next progress() takes. When it stays so (shared memory, our sends wait for room),
    // only the peer can help, and it may need our core for it.
    if (++refused_ > kRefusalsToYield) std::this_thread::yield();
    return false;
  }
  bell_.sleep(worker_.event_fd(), deadline);
  bell_.rang();
  spin_.slept(Clock::now() - start);
  return false;
}

}  // namespace casync::runtime
