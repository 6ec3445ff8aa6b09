// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/session/session.h"
#include "tests/support/temporary_directory.h"

namespace casync::test {

/// The argument of one rank's body.
struct RankContext {
  int rank = 0;
  int ranks = 1;
  runtime::SessionOptions options;  ///< ready to open: rank, size, rendezvous, loopback
};

/// Runs `body` once per rank, each in a thread, and waits for all. Bodies return "" or what went wrong, because
/// Catch's assertions belong to the main thread; the result is all complaints, a line each.
inline std::string run_ranks(int ranks, const std::function<std::string(RankContext&)>& body,
                             const std::string& transport = "loopback") {
  const TemporaryDirectory directory = TemporaryDirectory::in_memory();
  std::vector<std::string> complaints(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankContext context;
      context.rank = rank;
      context.ranks = ranks;
      context.options.launch.rank = rank;
      context.options.launch.ranks = ranks;
      context.options.launch.rendezvous = "file:" + directory.path();
      context.options.transport = transport;
      context.options.timeout_s = 30;
      complaints[static_cast<std::size_t>(rank)] = body(context);
    });
  }
  std::string all;
  for (int rank = 0; rank < ranks; ++rank) {
    threads[static_cast<std::size_t>(rank)].join();
    const std::string& one = complaints[static_cast<std::size_t>(rank)];
    if (!one.empty()) all += "rank " + std::to_string(rank) + ": " + one + "\n";
  }
  return all;
}

/// run_ranks with the session opened and closed around the body.
inline std::string with_sessions(int ranks, const std::function<void(runtime::SessionOptions&)>& configure,
                                 const std::function<std::string(runtime::Session&, RankContext&)>& body,
                                 const std::string& transport = "loopback") {
  return run_ranks(
      ranks,
      [&](RankContext& context) -> std::string {
        if (configure) configure(context.options);
        Result<std::unique_ptr<runtime::Session>> session = runtime::Session::open(context.options);
        if (!session) return "open: " + session.status().text();
        std::string complaint = body(**session, context);
        const Status closed = (*session)->close();
        if (complaint.empty() && !closed.is_ok()) complaint = "close: " + closed.text();
        return complaint;
      },
      transport);
}

}  // namespace casync::test
