// SPDX-License-Identifier: Apache-2.0
//
// The cost of a step once everything has been laid out: no allocation, three locks, few messages.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "base/allocation_count.h"
#include "runtime/session/session.h"
#include "tests/environment/scoped_variable.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

thread_local std::uint64_t locks_of_this_thread = 0;

using Lock = int (*)(pthread_mutex_t*);
Lock next_lock() { return reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock")); }

constexpr int kFirstSteps = 3;

struct Model {
  std::vector<GradientId> ids;
  std::vector<std::vector<float>> values;
  std::vector<Submission> submissions;
  std::vector<Handle> handles;

  Model(Session& session, int rank, std::size_t gradients, const std::function<std::size_t(std::size_t)>& elements) {
    for (std::size_t i = 0; i < gradients; ++i) {
      values.push_back(contribution(rank, elements(i), 1));
      ids.push_back(*declare(session, "g" + std::to_string(i), values.back().size()));
    }
    for (std::size_t i = 0; i < gradients; ++i) submissions.push_back({ids[i], view_of(values[i])});
    handles.resize(gradients);
  }
};

}  // namespace

// Called instead of libc's function: counts the locks of std::mutex.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const Lock next = next_lock();
  ++locks_of_this_thread;
  return next(mutex);
}

TEST_CASE("session steady: no thread of ours allocates, and no caller's submit, wait or step") {
  for (const char* threads : {"0", "2"}) {
    const ScopedVariable streams("CASYNC_THREADS", threads);  // beside the progress thread
    for (const char* name : {"none", "int8", "onebit"}) {
      std::atomic<std::uint64_t> allocations[2] = {};
      const std::string complaints = with_sessions(
          2,
          [&](SessionOptions& options) {
            options.codec = CodecChoice{name, {}};
            options.open_transport = open_wrapped({.allocations = &allocations[*options.launch.rank]});
          },
          [&](Session& session, RankContext& context) -> std::string {
            Model model(session, context.rank, 20, [](std::size_t i) { return 1 + 40000 * (i % 3); });
            std::uint64_t first = 0, last = 0, callers = 0;
            for (int step = 0; step < kFirstSteps + 150; ++step) {
              last = allocations[context.rank];  // not after the last step: the other may say goodbye then
              const std::uint64_t before = allocations_of_this_thread();
              if (Status status = session.submit(model.submissions, model.handles); !status) return status.text();
              for (const Handle handle : model.handles) {
                if (Status status = session.wait(handle, -1); !status) return status.text();
              }
              if (const Result<StepResult> done = session.step(); !done) return done.status().text();
              if (step < kFirstSteps) {
                first = allocations[context.rank];
              } else {
                callers += allocations_of_this_thread() - before;
              }
            }
            const std::uint64_t ours = last - first;
            if (ours == 0 && callers == 0) return "";
            return std::to_string(ours) + " allocations of ours, " + std::to_string(callers) + " of the caller's";
          });
      INFO(name << " with " << threads << " streams");
      CHECK(complaints == "");
    }
  }
}

TEST_CASE("session steady: a submit takes three locks and does not wait for the progress thread's round") {
  std::atomic<bool> hold = false, held = false;
  const std::string complaints = with_sessions(
      1,
      [&](SessionOptions& options) {
        options.open_transport = open_wrapped({.in_progress = [&](TransportClient&) {
          while (hold) {
            held = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }});
      },
      [&](Session& session, RankContext& context) -> std::string {
        Model model(session, context.rank, 20, [](std::size_t) { return 1000; });
        if (Status status = session.submit(model.submissions, model.handles); !status) return status.text();
        if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        hold = true;  // the thread's sleep ends by itself soon
        while (!held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const std::uint64_t before = locks_of_this_thread;
        if (Status status = session.submit(model.submissions, model.handles); !status) return status.text();
        const std::uint64_t locks = locks_of_this_thread - before;
        hold = false;
        // The session's lock, that of the list of peers that left, and the executor's.
        if (locks != 3) return std::to_string(locks) + " locks in one submit";
        if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("session steady: 200 small gradients that are submitted together leave fused") {
  constexpr std::uint32_t kSteps = 10;
  for (const char* name : {"none", "int8"}) {
    std::uint64_t messages[2] = {};
    const std::string complaints = with_sessions(2, codec(name), [&](Session& session, RankContext& context) {
      Model model(session, context.rank, 200, [](std::size_t) { return 64; });
      for (std::uint32_t step = 0; step < kSteps; ++step) {
        if (Status status = session.submit(model.submissions, model.handles); !status) return status.text();
        if (const Result<StepResult> done = session.step(); !done) return done.status().text();
      }
      messages[context.rank] = session.stats().messages_sent;
      return std::string();
    });
    INFO(name);
    REQUIRE(complaints == "");
    // 200 messages a step and rank, 64 at most in each that leaves: 4 of them when nothing is in the way. A sanitizer's
    // build computes so slowly that fewer are ready at a time.
    for (const std::uint64_t count : messages) CHECK(count <= 100 * kSteps);
  }
}
