// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/control_scale/others.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace casync::runtime::bench {

void Others::add(const Moments& one, const Status& status) {
  joined = std::max(joined, one.joined);
  asked = std::min(asked, one.asked);
  agreed = std::max(agreed, one.agreed);
  if (!status && failures++ == 0) std::snprintf(failure.data(), failure.size(), "%s", status.text().c_str());
}

Others run_others(const Job& job) {
  Others all;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (Rank rank = 1; rank < job.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Moments moments;
      const Status status = run_rank(job, rank, moments, nullptr);
      const std::lock_guard lock(mutex);
      all.add(moments, status);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return all;
}

}  // namespace casync::runtime::bench
