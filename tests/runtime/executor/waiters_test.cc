// SPDX-License-Identifier: Apache-2.0
//
// The executor's parts that other threads touch: who waits, what is left for the progress thread, when a stall is said.
#include "runtime/executor/waiters.h"

#include <array>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/executor/requests.h"
#include "runtime/executor/stall_watch.h"
#include "runtime/executor/streams.h"
#include "runtime/session/declarations.h"
#include "runtime/transport/loopback/factory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

std::unique_ptr<Transport> transport_of(std::uint64_t epoch) {
  TransportOptions options;
  options.epoch = epoch;
  return std::move(make_loopback(options)).value();
}

std::string text_of(const std::optional<Status>& status) { return status ? status->text() : "none"; }

/// Looks every millisecond. False: not within 10 s.
template <class Ready>
bool becomes(const Ready& ready) {
  for (const Clock::time_point until = after(Seconds(10)); !ready();) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

TEST_CASE("waiters: one that waits looks again after a nudge, and gives up at its deadline") {
  Waiters waiters;
  std::atomic<bool> ready = false;
  CHECK(text_of(waiters.wait_until([&] { return ready.load(); }, after(Seconds(0.01)))) == "none");
  std::thread other([&] {
    ready = true;
    waiters.nudge();
  });
  CHECK(text_of(waiters.wait_until([&] { return ready.load(); }, after(Seconds(60)))) == "OK");
  other.join();
}

TEST_CASE("waiters: a failure is heard when all work has stopped, and the first cause stands") {
  Waiters waiters;
  waiters.begin(3);
  CHECK(waiters.fail(data_loss("first")));
  CHECK_FALSE(waiters.fail(data_loss("second")));
  CHECK(waiters.failing());
  CHECK(waiters.active() == 3);
  const auto never = [] { return false; };
  CHECK(text_of(waiters.wait_until(never, after(Seconds(0.01)))) == "none");  // memory is still in use
  CHECK_FALSE(waiters.wait_for_end(after(Seconds(0.01))));
  CHECK_FALSE(waiters.close());
  waiters.end({.messages_sent = 5});
  CHECK(text_of(waiters.wait_until(never, after(Seconds(60)))) == "DataLoss: first");
  CHECK(text_of(waiters.wait_until([] { return true; }, after(Seconds(60)))) == "DataLoss: first");
  CHECK(waiters.wait_for_end(after(Seconds(60))));
  CHECK(waiters.active() == 0);
  CHECK(waiters.stats().messages_sent == 5);
}

TEST_CASE("waiters: an end without a failure is Aborted, and says if memory is still in use") {
  const std::string closed = "Aborted: the session was closed";
  for (const std::string unsettled : {"", "the device works on"}) {
    Waiters waiters;
    CHECK(waiters.close());
    CHECK_FALSE(waiters.holds_memory());
    waiters.end({}, unsettled);
    CHECK(waiters.holds_memory() == !unsettled.empty());
    const std::string more = unsettled.empty() ? "" : "; the device works on: the gradients' memory is still in use";
    CHECK(waiters.failure().text() == closed + more);
  }
}

TEST_CASE("requests: calls and steps are taken once, and after its end nothing is") {
  const std::unique_ptr<Transport> transport = transport_of(180);
  Waiters waiters;
  Requests requests(*transport, waiters);
  int called = 0;
  CHECK(requests.post([&] { ++called; }));
  const GradientStart starts[2] = {};
  requests.submit(starts);
  requests.hold(1);
  requests.start_held({starts, 1});
  CHECK(waiters.active() == 3);
  std::vector<GradientStart> taken;
  for (const Requests::Call& call : requests.take(taken)) call();
  CHECK(called == 1);
  CHECK(taken.size() == 3);
  taken.clear();
  CHECK(requests.take(taken).empty());
  CHECK(taken.empty());

  CHECK(requests.post([&] { ++called; }));
  for (const Requests::Call& call : requests.end()) call();
  CHECK(called == 2);
  CHECK_FALSE(requests.post([&] { ++called; }));
  requests.submit(starts);
  requests.hold(7);
  CHECK(waiters.active() == 3);
  requests.take(taken);
  CHECK(taken.empty());
}

TEST_CASE("requests: a question has the progress thread's answer, or none after a while") {
  const std::unique_ptr<Transport> transport = transport_of(181);
  Waiters waiters;
  Requests requests(*transport, waiters);
  CHECK_FALSE(requests.ask<int>([] { return 1; }, Seconds(0.01)));  // nobody takes it
  std::atomic<bool> over = false;
  std::thread progress([&] {
    std::vector<GradientStart> starts;
    while (!over) {
      for (const Requests::Call& call : requests.take(starts)) call();
      std::this_thread::yield();
    }
    requests.end();  // drops what has not been taken
  });
  CHECK(requests.ask<int>([] { return 42; }, Seconds(60)) == 42);
  over = true;
  progress.join();
  CHECK_FALSE(requests.ask<int>([] { return 1; }, Seconds(60)));
}

TEST_CASE("requests: a question that is dropped is answered by nothing, at once") {
  const std::unique_ptr<Transport> transport = transport_of(182);
  Waiters waiters;
  Requests requests(*transport, waiters);
  // Ends once, when the question has most likely been asked: after the end, asking fails at once.
  std::thread progress([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    requests.end();
  });
  const Clock::time_point begun = Clock::now();
  CHECK_FALSE(requests.ask<int>([] { return 1; }, Seconds(60)));
  CHECK(Clock::now() < begun + std::chrono::seconds(30));
  progress.join();
}

TEST_CASE("stall watch: a stall is said after its time, and from then on half as often, until something moves") {
  StallWatch watch(Seconds(10));
  const Clock::time_point start = Clock::now();
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  CHECK_FALSE(watch.look(at(0), 1, false));
  CHECK_FALSE(watch.look(at(9), 1, false));
  REQUIRE(watch.look(at(10), 1, false));
  CHECK_FALSE(watch.look(at(29), 1, false));
  CHECK(watch.look(at(30), 1, false)->count() == Approx(30));
  CHECK_FALSE(watch.look(at(49), 1, false));
  CHECK(watch.look(at(50), 1, false));
  CHECK_FALSE(watch.look(at(100), 2, false));  // a byte
  CHECK(watch.look(at(110), 2, false));
  CHECK_FALSE(watch.look(at(200), 2, true));  // nothing is under way
  watch.moved(at(300));
  CHECK_FALSE(watch.look(at(309), 2, false));
  CHECK(watch.look(at(310), 2, false));
}

TEST_CASE("streams: each task runs once on a thread, comes back with its outcome, and an exception is Internal") {
  const std::unique_ptr<Transport> transport = transport_of(183);
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<int> runs = 0;
  Streams streams(
      *transport,
      [&](GradientRun&, TaskId task, Scratch&) -> TaskOutcome {
        ++runs;
        if (TaskGraph::index(task) == 3) throw std::runtime_error("a fault");
        return {Status::ok(), TaskGraph::index(task)};
      },
      allocations);
  CHECK(streams.empty());
  REQUIRE(streams.open(2).is_ok());
  const Result<Declared> declared = declare_gradient(Plan{}, {"weight", DType::kFloat32, {100}, 0}, Topology::flat(1));
  const std::unique_ptr<GradientRun> run = std::move(make_run(*declared, Topology::flat(1), 0, 0)).value();
  std::vector<std::string> texts(8);
  std::size_t begun = 0, ended = 0;
  while (ended < texts.size()) {
    while (begun < texts.size() && streams.has_room()) {
      streams.begin({run.get(), TaskId(static_cast<std::uint32_t>(begun))});
      ++begun;
    }
    streams.take_ended([&](const Streams::Ended& one) {
      CHECK(one.run == run.get());
      CHECK((one.lane == 1 || one.lane == 2));
      CHECK(one.outcome.bytes == (TaskGraph::index(one.task) == 3 ? 0 : TaskGraph::index(one.task)));
      texts[TaskGraph::index(one.task)] += one.outcome.status.text();
      ++ended;
    });
  }
  CHECK(streams.at_rest());
  CHECK(runs == 8);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(texts[i] == (i == 3 ? "Internal: a stream met an exception: a fault" : "OK"));
  }
  streams.close();
}

TEST_CASE("streams: tasks go to the thread with the fewest, in whatever order earlier ones have ended") {
  constexpr std::uint32_t kGated = 5;
  const std::unique_ptr<Transport> transport = transport_of(184);
  std::atomic<std::uint64_t> allocations = 0;
  std::array<std::atomic<bool>, kGated> open{};
  std::atomic<int> met = 0;
  Streams streams(
      *transport,
      [&](GradientRun&, TaskId task, Scratch&) -> TaskOutcome {
        const std::size_t at = TaskGraph::index(task);
        if (at < kGated) return {Status::ok(), becomes([&] { return open[at].load(); }) ? Bytes{1} : 0};
        ++met;
        return {Status::ok(), becomes([&] { return met == 2; }) ? Bytes{1} : 0};
      },
      allocations);
  REQUIRE(streams.open(2).is_ok());
  const Result<Declared> declared = declare_gradient(Plan{}, {"weight", DType::kFloat32, {100}, 0}, Topology::flat(1));
  const std::unique_ptr<GradientRun> run = std::move(make_run(*declared, Topology::flat(1), 0, 0)).value();
  const auto begin = [&](std::uint32_t task) { streams.begin({run.get(), TaskId(task)}); };
  std::vector<std::uint32_t> ended, in_time;
  const auto take = [&](std::size_t count) {
    return becomes([&] {
      streams.take_ended([&](const Streams::Ended& one) {
        ended.push_back(static_cast<std::uint32_t>(TaskGraph::index(one.task)));
        if (one.outcome.bytes == 1) in_time.push_back(ended.back());
      });
      return ended.size() >= count;
    });
  };
  for (std::uint32_t task = 0; task < kGated; ++task) begin(task);
  // They are on threads 2, 1, 2, 1, 2, and the two that end last are both of thread 2.
  const std::vector<std::uint32_t> order{1, 0, 3, 2, 4};
  for (std::size_t i = 0; i < order.size(); ++i) {
    open[order[i]] = true;
    CHECK(take(i + 1));
  }
  CHECK(ended == order);
  begin(kGated);
  begin(kGated + 1);  // each waits for the other
  while (!streams.at_rest()) static_cast<void>(take(kGated + 2));
  CHECK(in_time.size() == kGated + 2);
  streams.close();
}
