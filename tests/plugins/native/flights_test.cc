// SPDX-License-Identifier: Apache-2.0
//
// Submissions of a framework's operations, and the end of their session while some are under way.
#include "plugins/native/flights.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/plugins/c_api/session_support.h"

using casync::native::attach;
using casync::native::detach;
using casync::native::find;
using casync::native::Flights;
using casync::native::Outcome;
using casync::test::comes_true;
using casync::test::Session;

namespace {

constexpr double kLimit = 1;
constexpr double kHour = 3600;  // longer than a test may take: one that waits so long is ended
constexpr std::uint32_t kUnknown = 12345;

/// An operation whose end waits for the test, as a framework's may for a thread that does not come.
struct StuckEnd {
  std::promise<void> reached, let_go;
  std::vector<float> values = std::vector<float>(100, 1.5f);

  void submit(Flights& flights, std::uint32_t gradient) {
    const Outcome submitted = flights.submit(gradient, values.data(), values.size() * sizeof(float),
                                             [this, go_on = let_go.get_future().share()](const Outcome&) {
                                               reached.set_value();
                                               go_on.wait();
                                             });
    INFO(submitted.message);
    REQUIRE(submitted.ok());
    reached.get_future().wait();
  }
};

}  // namespace

TEST_CASE("flights: one whose operation does not end is given up at the session's time limit, and counted") {
  StuckEnd stuck;
  Session session("none", kLimit);
  const int number = attach(session.handle);
  stuck.submit(*find(number), session.declare("weight", 100));
  const Outcome first = detach(number);
  CHECK(first.status == CASYNC_TIMEOUT);
  CHECK(first.message.find("1 gradients and 0 calls are still under way 1 s after the session was closed") == 0);

  SECTION("later looks do not wait again, and once the operation has ended the session may be freed") {
    int looks = 0;  // so many take longer than comes_true() asks, if each of them waits
    CHECK(comes_true([&] { return detach(number).status != CASYNC_TIMEOUT || ++looks == 500; }));
    CHECK(looks == 500);
    stuck.let_go.set_value();
    CHECK(comes_true([&] { return detach(number).ok(); }));
    CHECK(find(number) == nullptr);
  }
  SECTION("nothing is begun any more") {
    const std::shared_ptr<Flights> flights = find(number);
    std::vector<float> values(100);
    CHECK(flights->submit(0, values.data(), 400, [](const Outcome&) {}).status == CASYNC_ABORTED);
    bool finite = false;
    std::string name;
    CHECK(flights->step(&finite, &name).status == CASYNC_ABORTED);
    flights->abort("the session is not touched");
    CHECK(flights->count() == 1);
    stuck.let_go.set_value();
  }
}

TEST_CASE("flights: an operation that ends after its session was given up touches nothing that is freed") {
  auto stuck = std::make_unique<StuckEnd>();
  const std::weak_ptr<Flights> flights = [&] {
    Session session("none", kLimit);
    const int number = attach(session.handle);
    stuck->submit(*find(number), session.declare("weight", 100));
    CHECK(casync_session_close(session.handle) == CASYNC_TIMEOUT);
    CHECK(std::string(casync_last_error()).find("completions of 1 submissions have not returned") != std::string::npos);
    CHECK(detach(number).status == CASYNC_TIMEOUT);
    return std::weak_ptr<Flights>(find(number));
  }();  // casync_session_free(): the session is kept
  REQUIRE(flights.lock() != nullptr);
  CHECK(flights.lock()->count() == 1);
  stuck->let_go.set_value();
  REQUIRE(comes_true([&] { return flights.lock()->count() == 0; }));
  CHECK(flights.lock()->drain().ok());
}

TEST_CASE("flights: an operation that ends in time is waited for") {
  StuckEnd stuck;
  Session session("none", kHour);
  const int number = attach(session.handle);
  stuck.submit(*find(number), session.declare("weight", 100));
  bool is_let_go_of = false;
  std::thread ends([&, flights = find(number)] {
    std::vector<float> values(100);
    is_let_go_of = comes_true(
        [&] { return flights->submit(kUnknown, values.data(), 400, [](const Outcome&) {}).status == CASYNC_ABORTED; });
    stuck.let_go.set_value();
  });
  const Outcome drained = detach(number);
  ends.join();
  CHECK(is_let_go_of);
  INFO(drained.message);
  CHECK(drained.ok());
  CHECK(find(number) == nullptr);
}

TEST_CASE("flights: a session with nothing under way is let go of at once") {
  const Session session("none", kHour);
  const int number = attach(session.handle);
  const std::uint32_t gradient = session.declare("weight", 100);
  std::vector<float> values(100, 1.5f);
  bool finite = false;
  std::string name;
  int ends = 0;
  REQUIRE(
      find(number)->submit(gradient, values.data(), 400, [&](const Outcome& end) { ends += end.ok() ? 1 : 0; }).ok());
  REQUIRE(find(number)->step(&finite, &name).ok());
  CHECK(ends == 1);
  CHECK(finite);
  const std::shared_ptr<Flights> kept = find(number);  // as an operation does that is being cancelled
  CHECK(detach(number).ok());
  CHECK(find(number) == nullptr);
  kept->abort("too late: the session is not touched");
  CHECK(kept->submit(gradient, values.data(), 400, [](const Outcome&) {}).status == CASYNC_ABORTED);
}
