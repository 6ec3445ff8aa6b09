// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/current_step.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Steps 1, 3, 5 and so on exchange parameters with neighbours.
SyncMode gossip() {
  SyncMode mode;
  mode.every = 2;
  mode.neighbours = Neighbours::kRing;
  return mode;
}

const Clock::time_point kNow = Clock::now();

enum class Event { kSubmit, kConsensus, kEnd, kLoad };

void happen(CurrentStep& step, Event event) {
  switch (event) {
    case Event::kSubmit: return step.submitted(kNow);
    case Event::kConsensus: return step.begin_consensus();
    case Event::kEnd: return step.end(kNow);
    case Event::kLoad: return step.go_to(7);
  }
}

std::string text_of(const CurrentStep& step) {
  return std::string(step.is_consensus() ? "consensus, " : "") + (step.has_submissions() ? "begun" : "not begun") +
         (step.is_together() ? ", together" : "");
}

}  // namespace

TEST_CASE("current step: its transitions are those of the table in docs/threads.md") {
  struct Transition {
    std::vector<Event> before;
    const char* from;
    Event event;
    const char* to;
  };
  const Transition table[] = {
      {{}, "not begun, together", Event::kSubmit, "begun"},
      {{}, "not begun, together", Event::kConsensus, "consensus, not begun, together"},
      {{}, "not begun, together", Event::kEnd, "not begun, together"},
      {{Event::kSubmit}, "begun", Event::kSubmit, "begun"},
      {{Event::kSubmit}, "begun", Event::kEnd, "not begun"},
      {{Event::kSubmit}, "begun", Event::kLoad, "not begun, together"},
      {{Event::kSubmit, Event::kEnd}, "not begun", Event::kSubmit, "begun"},
      {{Event::kSubmit, Event::kEnd}, "not begun", Event::kConsensus, "consensus, not begun"},
      {{Event::kSubmit, Event::kEnd}, "not begun", Event::kEnd, "not begun"},
      {{Event::kSubmit, Event::kEnd}, "not begun", Event::kLoad, "not begun, together"},
      {{Event::kSubmit, Event::kEnd, Event::kConsensus}, "consensus, not begun", Event::kSubmit, "consensus, begun"},
      {{Event::kSubmit, Event::kEnd, Event::kConsensus}, "consensus, not begun", Event::kEnd, "not begun"},
      {{Event::kConsensus, Event::kSubmit}, "consensus, begun", Event::kEnd, "not begun, together"},
  };
  const SyncMode mode = gossip();
  for (const Transition& transition : table) {
    CurrentStep step(mode);
    for (const Event event : transition.before) happen(step, event);
    CHECK(text_of(step) == transition.from);
    happen(step, transition.event);
    CHECK(text_of(step) == transition.to);
  }
}

TEST_CASE("current step: the mode says what it exchanges, and a consensus counts for one step") {
  const SyncMode mode = gossip();
  CurrentStep step(mode);
  CHECK(step.exchanged() == Exchanged::kNothing);
  step.begin_consensus();
  CHECK(step.is_consensus());
  CHECK(step.exchanged() == Exchanged::kParameters);
  step.end(kNow);
  CHECK(step.number() == 1);
  CHECK_FALSE(step.is_consensus());
  CHECK(step.exchanged() == Exchanged::kParameters);
  step.end(kNow);
  CHECK(step.exchanged() == Exchanged::kNothing);
}

TEST_CASE("current step: parameters come from a program that has asked in that step") {
  const SyncMode mode = gossip();
  CurrentStep step(mode);
  CHECK_THAT(step.check_exchange().text(), Catch::Contains("InvalidArgument: step 0 exchanges nothing"));
  CHECK(step.ask() == Exchanged::kNothing);
  step.end(kNow);
  CHECK_THAT(step.check_exchange().text(), Catch::Contains("InvalidArgument: step 1 exchanges parameters"));
  CHECK(step.ask() == Exchanged::kParameters);
  CHECK(step.check_exchange().text() == "OK");
  step.go_to(3);
  CHECK_THAT(step.check_exchange().text(), Catch::Contains("InvalidArgument: step 3 exchanges parameters"));
  step.begin_consensus();  // a program that wants one knows
  CHECK(step.check_exchange().text() == "OK");
}

TEST_CASE("current step: gradients come from any program") {
  const SyncMode mode;
  const CurrentStep step(mode);
  CHECK(step.check_exchange().text() == "OK");
}

TEST_CASE("current step: it knows the moments of its own submissions") {
  const SyncMode mode;
  CurrentStep step(mode);
  CHECK_FALSE(step.has_submissions());
  step.submitted(kNow);
  step.submitted(kNow + std::chrono::seconds(1));
  CHECK(step.has_submissions());
  CHECK(step.first_submitted() == kNow);
  CHECK(step.last_submitted() == kNow + std::chrono::seconds(1));
  step.end(kNow + std::chrono::seconds(2));
  CHECK_FALSE(step.has_submissions());
  CHECK(step.begun() == kNow + std::chrono::seconds(2));
}

TEST_CASE("current step: ranks are together until one submits, and again after a consensus that had submissions") {
  const SyncMode mode = gossip();
  CurrentStep step(mode);
  CHECK(step.is_together());
  step.submitted(kNow);
  step.end(kNow);
  CHECK_FALSE(step.is_together());
  step.begin_consensus();
  step.end(kNow);
  CHECK_FALSE(step.is_together());
  step.begin_consensus();
  step.submitted(kNow);
  step.end(kNow);
  CHECK(step.is_together());
  step.submitted(kNow);
  CHECK_FALSE(step.is_together());
  step.go_to(7);
  CHECK(step.is_together());
  CHECK(step.number() == 7);
}
