// SPDX-License-Identifier: Apache-2.0
//
// The threads of a session, as the kernel shows them.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/environment/scoped_variable.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/hanging_device.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/kept_for_ever.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

/// Name -> blocked signals of each thread of this process.
std::map<std::string, std::uint64_t> blocked_signals() {
  std::map<std::string, std::uint64_t> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "status");
    std::string name, word, value;
    while (file >> word >> value) {
      if (word == "Name:") name = value;
      if (word == "SigBlk:") all[name] = std::stoull(value, nullptr, 16);
      file.ignore(1000, '\n');
    }
  }
  return all;
}

/// A device that hangs, and has a share of `token` while it is there.
struct HeldDevice final : HangingDevice {
  explicit HeldDevice(std::shared_ptr<int> held) : token(std::move(held)) {}
  const std::shared_ptr<int> token;
};

/// Submits a gradient, and waits until the device has some of its tasks. Returns "" or what went wrong.
std::string begin_on_device(Session& session, GradientId id, std::vector<float>& values) {
  const Submission one{id, {}, DeviceView::of(values.data(), values.size() * sizeof(float))};
  const auto handles = session.submit({&one, 1});
  if (!handles) return handles.status().text();
  // The round that has answered a question begins tasks, and then the next one answers.
  for (int answers = 0; answers < 2;) {
    const Status late = session.wait((*handles)[0], 0.02);
    if (late.code() != StatusCode::kTimeout) return "it does not hang: " + late.text();
    if (late.message().find("not done") != std::string::npos) ++answers;
  }
  return "";
}

/// A thread of this process that is the library's; "": there is none.
std::string thread_of_casync() {
  for (const auto& [name, blocked] : blocked_signals()) {
    if (name.starts_with("casync-")) return name;
  }
  return "";
}

}  // namespace

TEST_CASE("session threads: signals are the program's, not theirs") {
  const ScopedVariable threads("CASYNC_THREADS", "2");
  const std::string complaints = with_sessions(1, codec("int8"), [](Session&, RankContext&) -> std::string {
    const std::map<std::string, std::uint64_t> all = blocked_signals();
    for (const char* name : {"casync-progress", "casync-1", "casync-2", "casync-group"}) {
      const auto found = all.find(name);
      if (found == all.end()) return std::string("no thread ") + name;
      for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGPROF}) {
        const bool blocked = (found->second >> (signal - 1) & 1) != 0;
        if (!blocked) return std::string(name) + " takes signal " + std::to_string(signal);
      }
    }
    return "";
  });
  CHECK(complaints == "");
}

TEST_CASE("session threads: none runs after close(), also when the job has failed") {
  // One that runs on while the program exits meets libraries that have been taken down.
  const bool fails = GENERATE(false, true);
  CAPTURE(fails);
  const std::string complaints = with_sessions(1, codec("int8"), [&](Session& session, RankContext&) -> std::string {
    if (fails) session.abort("enough");
    static_cast<void>(session.close());
    std::string left = thread_of_casync();
    // The kernel may show a thread for a moment after join().
    for (int i = 0; i < 10'000 && !left.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      left = thread_of_casync();
    }
    return left.empty() ? "" : "there is still " + left;
  });
  CHECK(complaints == "");
}

TEST_CASE("session threads: a job of one machine stays off its network, whatever the launcher said") {
  std::string seen[2];
  const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
    context.options.open_transport = [&](const TransportOptions& options) {
      seen[context.rank] = options.interface_name;
      return make_loopback(options);
    };
    return Session::open(context.options).status().text();
  });
  CHECK(complaints == "rank 0: OK\nrank 1: OK\n");
  CHECK(seen[0] == "lo");
  CHECK(seen[1] == "lo");
}

namespace {

/// One rank of the next test: trains, while other threads declare gradients and look at the session.
std::string train_beside_others(Session& session, int rank) {
  constexpr std::size_t kThreadElements = 3000;
  constexpr int kLate = 12, kSteps = 40;
  std::vector<GradientId> ids;
  for (const char* name : {"a", "b"}) {
    const Result<GradientId> id = declare(session, name, kThreadElements);
    if (!id) return id.status().text();
    ids.push_back(*id);
  }
  std::vector<GradientId> late(kLate);
  std::thread declarer([&] {
    for (int i = 0; i < kLate; ++i) {
      const int which = (5 * i + rank) % kLate;  // another order on each rank
      late[static_cast<std::size_t>(which)] = *declare(session, "late" + std::to_string(which), 40);
      std::this_thread::yield();
    }
  });
  std::atomic<bool> over = false;
  std::string wrong;
  std::thread watcher([&] {
    while (!over) {
      const Result<SessionState> state = session.state();
      if (!state && state.status().code() != StatusCode::kInvalidArgument) wrong = state.status().text();
      static_cast<void>(session.stats());
      static_cast<void>(session.exchanged());
    }
  });
  std::vector<std::vector<float>> values(ids.size() + late.size(), std::vector<float>(kThreadElements, 1.0f));
  const auto step = [&](std::span<const GradientId> all, std::size_t elements) -> std::string {
    std::vector<Submission> submissions;
    for (std::size_t i = 0; i < all.size(); ++i) {
      submissions.push_back({all[i], {reinterpret_cast<std::byte*>(values[i].data()), 4 * elements}});
    }
    if (const auto handles = session.submit(submissions); !handles) return handles.status().text();
    const Result<StepResult> done = session.step();
    return done ? "" : done.status().text();
  };
  std::string failed;
  for (int i = 0; i < kSteps && failed.empty(); ++i) failed = step(ids, kThreadElements);
  declarer.join();
  for (int i = 0; i < 3 && failed.empty(); ++i) failed = step(late, 40);
  // Others leave meanwhile, which the group's thread hears while the state is taken.
  for (int i = 0; i < 50 * rank; ++i) static_cast<void>(session.state());
  over = true;
  watcher.join();
  return failed.empty() ? wrong : failed;
}

}  // namespace

TEST_CASE("session threads: steps, declarations in any order, states and goodbyes meet without a race") {
  const std::string complaints = with_sessions(3, codec("int8"), [](Session& session, RankContext& context) {
    return train_beside_others(session, context.rank);
  });
  CHECK(complaints == "");
}

TEST_CASE("session threads: one that does not come to rest is left alone after timeout_s, with what it uses") {
  static std::atomic<bool> wanted = false, inside = false, released = false;
  const auto block = [](TransportClient&) {
    if (!wanted) return;
    inside = true;
    while (!released) std::this_thread::yield();
  };
  const std::string complaints = run_ranks(1, [&](RankContext& context) -> std::string {
    context.options.timeout_s = 2;
    context.options.open_transport = open_wrapped({.in_progress = block});
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    wanted = true;
    while (!inside) std::this_thread::yield();
    const std::string closed = (*session)->close().text();
    if (!(*session)->holds_memory()) return "it says that nobody uses the gradients";
    session->reset();
    return closed;
  });
  CHECK_THAT(complaints, Catch::StartsWith("rank 0: Timeout: the session was closed, and a task") &&
                             Catch::Contains("memory is still in use"));
  CHECK(blocked_signals().contains("casync-progress"));
  released = true;
  while (blocked_signals().contains("casync-progress")) std::this_thread::yield();
}

TEST_CASE("session threads: a device that does not end its work stays, with all that is on it") {
  static std::vector<float> values(100);
  for (const bool begins : {false, true}) {
    CAPTURE(begins);
    const auto token = std::make_shared<int>();
    const std::string complaints = run_ranks(1, [&](RankContext& context) -> std::string {
      const KeptForEver on_purpose;
      context.options.timeout_s = 4;
      context.options.codec = CodecChoice{"int4", {}};
      context.options.device = "cuda:0";
      context.options.open_device = [&](const std::string&) {
        return Result<std::unique_ptr<Device>>(std::make_unique<HeldDevice>(token));
      };
      Result<std::unique_ptr<Session>> session = Session::open(context.options);
      if (!session) return session.status().text();
      const Result<GradientId> id = declare(**session, "a", values.size());
      if (!id) return id.status().text();
      std::string bad = begins ? begin_on_device(**session, *id, values) : "";
      (*session)->abort("the test has seen enough");
      static_cast<void>((*session)->close());
      if ((*session)->holds_memory() != begins) bad += "it does not say who uses the gradients";
      session->reset();
      return bad;
    });
    CHECK(complaints == "");
    CHECK((token.use_count() > 1) == begins);
  }
}
