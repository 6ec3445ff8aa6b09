// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group_thread.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "tests/runtime/control/group/no_events.h"

using namespace casync;
using namespace casync::runtime;
using casync::runtime::testing::NoEvents;

namespace {

/// A role whose child closes its end in the round of the thread that comes after the role has hung up.
class Parent final : public IdleRole {
 public:
  explicit Parent(std::string& story) : story_(story) {}
  ~Parent() override { story_ += has_child_ ? "with a child, ended" : "ended"; }

  Clock::time_point tend(Clock::time_point now) override {
    if (has_hung_up_) has_child_ = false;
    return now;
  }
  void hang_up() override {
    has_hung_up_ = true;
    story_ += "hung up, ";
  }
  bool has_children() const override { return has_child_; }

 private:
  std::string& story_;
  bool has_child_ = true, has_hung_up_ = false;
};

}  // namespace

TEST_CASE("group thread: the connections to children are kept until these have read to the end, for a short time") {
  NoEvents events;
  std::string story;
  GroupThread thread;
  REQUIRE(thread.start(std::make_unique<Parent>(story), events, Seconds(0.5)).is_ok());
  thread.stop();
  CHECK(story == "hung up, ended");
}

TEST_CASE("group thread: a request that comes after its end is dropped, with all that it holds") {
  NoEvents events;
  std::string story;
  GroupThread thread;
  REQUIRE(thread.start(std::make_unique<Parent>(story), events, Seconds(0.5)).is_ok());
  thread.stop();
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> kept = held;
  thread.post([held = std::move(held)](Role&) {});
  CHECK(kept.expired());
}
