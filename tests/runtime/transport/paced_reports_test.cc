// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/paced_reports.h"

#include <chrono>
#include <new>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

Clock::time_point at(int milliseconds) { return Clock::time_point() + std::chrono::milliseconds(milliseconds); }

/// A client that writes down what it is told, and adds a report to be made at once for each that it hears of.
struct Listener : TransportClient {
  PacedReports reports;
  std::vector<std::string> heard;
  bool answers = false;
  int throws = 0;  // at the n-th report from here on

  Placement place(Rank, const Message&) override { return Placement::later(); }
  void received(Rank from, const Message&, Status) override { hear("received " + std::to_string(from)); }
  void sent(std::uint64_t cookie, Status) override { hear("sent " + std::to_string(cookie)); }
  void failed(Rank, Status) override {}
  void hear(const std::string& what) {
    heard.push_back(what);
    if (throws > 0 && --throws == 0) throw std::bad_alloc();
    if (answers) reports.add_sent(9, Status::ok(), at(0));
  }
};

}  // namespace

TEST_CASE_METHOD(Listener, "paced reports: each is made once, when its time has come") {
  CHECK(reports.empty());
  CHECK(reports.next() == Clock::time_point::max());
  reports.add_received(3, {}, Status::ok(), at(20));
  reports.add_sent(1, Status::ok(), at(30));
  reports.add_sent(2, Status::ok(), at(10));
  CHECK(reports.next() == at(10));
  CHECK_FALSE(reports.make_due(*this, at(9)));
  CHECK(reports.make_due(*this, at(20)));
  CHECK(heard == std::vector<std::string>{"sent 2", "received 3"});
  CHECK(reports.next() == at(30));
  CHECK(reports.make_due(*this, Clock::time_point::max()));
  CHECK(heard.back() == "sent 1");
  CHECK(reports.empty());
}

TEST_CASE_METHOD(Listener, "paced reports: those that the client adds while it is told wait for the next time") {
  answers = true;
  reports.add_sent(1, Status::ok(), at(10));
  reports.add_sent(2, Status::ok(), at(10));
  CHECK(reports.make_due(*this, at(10)));
  CHECK(heard == std::vector<std::string>{"sent 1", "sent 2"});
  answers = false;
  CHECK(reports.make_due(*this, at(10)));
  CHECK(heard.size() == 4);
  CHECK(reports.empty());
}

TEST_CASE_METHOD(Listener, "paced reports: a client that throws hears each report once, and the others the next time") {
  reports.add_sent(1, Status::ok(), at(10));
  reports.add_sent(2, Status::ok(), at(10));
  reports.add_sent(3, Status::ok(), at(10));
  reports.add_received(4, {}, Status::ok(), at(10));
  throws = 2;
  CHECK_THROWS_AS(reports.make_due(*this, at(10)), std::bad_alloc);
  CHECK_FALSE(reports.empty());
  CHECK(reports.next() <= at(10));
  CHECK(reports.make_due(*this, at(10)));
  CHECK(heard == std::vector<std::string>{"sent 1", "sent 2", "sent 3", "received 4"});
  CHECK(reports.empty());
  CHECK(reports.next() == Clock::time_point::max());
}

}  // namespace casync::test
