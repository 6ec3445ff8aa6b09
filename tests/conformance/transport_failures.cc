// SPDX-License-Identifier: Apache-2.0
//
// Scenarios about what goes wrong: refusals, peers that close, die or belong to another job, strangers.
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "tests/conformance/strangers.h"
#include "tests/conformance/transport_probe.h"

namespace casync::test {
namespace {

using runtime::Message;
using runtime::Placement;

// Seconds within which also a loaded machine has done what waits for nobody: less than what a silent peer is given.
constexpr double kAtOnce = 4;

// Every operation with a failed peer ends at once with its status, and nobody hears of the failure again.
void expect_later_sends_fail(TransportRig& rig, TransportProbe& probe, Rank peer) {
  const Status failure = probe.failed_[peer].at(0);
  for (Bytes bytes : {Bytes{10}, 2_MiB}) {
    const SentMessage& late = probe.send(peer, 1000, bytes);
    rig.expect(late.completions == 0, "sent() is not called from inside send()");
    rig.expect(probe.until([&] { return late.completions == 1; }, kAtOnce), "a later send ends at once");
    rig.expect(late.status.text() == failure.text(), "with the status of the failure: " + late.status.text());
  }
  probe.run_for(0.05);
  rig.expect(probe.failed_[peer].size() == 1, "a failure is reported once");
}

void refused(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  if (rig.rank == 1) {
    probe.answer = [](Rank, const Message&) { return Placement::refuse(data_loss("nobody ordered this")); };
    rig.expect(probe.until([&] { return !probe.failed_.empty(); }), "a refusal fails the peer");
    if (probe.failed_[0].empty()) return;
    rig.expect(probe.failed_[0][0].text() == "DataLoss: nobody ordered this",
               "with the reason given: " + probe.failed_[0][0].text());
    rig.expect(probe.asked_ == 1, "what else the peer sends is dropped without asking");
    expect_later_sends_fail(rig, probe, 0);
    probe.meet();
  } else {
    for (std::uint32_t i = 0; i < 4; ++i) probe.send(1, i, i * 300'000);
    probe.until([&] { return probe.all_sent(); }, 2);
    probe.meet();
    rig.expect(probe.until([&] { return probe.all_sent(); }) || !rig.own_process, "the sender's messages end, too");
  }
  probe.transport().close(after(Seconds(1)));
}

void closes_with_sends_under_way(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  if (rig.rank == 0) {
    for (std::uint32_t i = 0; i < 12; ++i) probe.send(1, i, i % 2 == 0 ? 2_MiB : 100);
    probe.run_for(0.05);
    const Clock::time_point start = Clock::now();
    probe.transport().close(after(Seconds(0.3)));
    rig.expect(seconds_since(start) < kAtOnce, "close() ends soon after its deadline");
    for (const auto& message : probe.sent_) {
      rig.expect(message->completions == 1, "sent() ran once: " + std::to_string(message->completions));
    }
    rig.all_gather("closed");
  } else {
    probe.answer = [](Rank, const Message&) { return Placement::later(); };
    probe.run_for(0.5);
    rig.all_gather("closed");
    probe.transport().close(after(Seconds(0.2)));
  }
}

void closes_in_the_middle_of_a_message(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  if (rig.rank == 0) {
    probe.send(1, 0, 9_MiB);
    probe.transport().close(Clock::now());
    rig.all_gather("closed");
    return;
  }
  probe.run_for(0.3);
  rig.all_gather("closed");
  probe.transport().close(after(Seconds(0.3)));
  for (auto& [key, received] : probe.received_) {
    rig.expect(received.completions == 1, "a placed message is reported once, whole or not");
    rig.expect(received.guards_are_whole(), "and stays inside its memory");
    if (received.status.is_ok()) rig.expect(received.holds_the_pattern(0), "when it is called well, it is");
  }
}

// Each of two ranks has a message of the other.
void greet(TransportRig& rig, TransportProbe& probe) {
  probe.send(1 - rig.rank, 0, 1000);
  rig.expect(probe.until([&] { return probe.received_count() == 1 && probe.all_sent(); }), "messages arrive");
  probe.meet();
}

// Rank 1 says goodbye. Returns true there.
bool has_left(TransportRig& rig, TransportProbe& probe) {
  if (rig.rank != 1) return false;
  probe.transport().close(after(Seconds(0.1)));
  probe.destroy();
  rig.all_gather("");
  return true;
}

void says_goodbye(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  greet(rig, probe);
  if (has_left(rig, probe)) return;
  probe.run_for(0.2);
  rig.all_gather("");
  probe.run_for(0.1);
  rig.expect(probe.failed_.empty(), "a peer that said goodbye has not failed");
  probe.check_everything();
  const SentMessage& late = probe.send(1, 7, 100);
  rig.expect(probe.until([&] { return late.completions == 1; }), "what is sent to it ends");
  rig.expect(late.status.code() == StatusCode::kPeerFailure, "as PeerFailure: " + late.status.text());
  rig.expect(late.status.message().find("rank 1") != std::string::npos, "that names it");
  rig.expect(probe.failed_[1].size() == 1, "now it is called failed, once");
  probe.transport().close(after(Seconds(1)));
}

// A peer that has left or failed confirms nothing any more, and nobody waits for it.
void expect_settled(TransportRig& rig, TransportProbe& probe) {
  probe.transport().settle();
  rig.expect(probe.until([&] { return probe.transport().settled(); }, kAtOnce), "it is settled at once");
  rig.expect(probe.transport().unsettled().empty(), "and lacks nobody");
}

void settles_without_one_that_left(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  greet(rig, probe);
  if (has_left(rig, probe)) return;
  all_gather_while_moving(rig, probe.transport(), "");
  probe.run_for(0.1);  // the goodbye arrives
  expect_settled(rig, probe);
  rig.expect(probe.failed_.empty(), "no peer has failed");
  probe.transport().close(after(Seconds(1)));
}

// The other rank hears the goodbye, goes on for a while, and leaves without one of its own.
void hears_a_goodbye(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  greet(rig, probe);
  if (rig.rank == 1) probe.run_for(0.3);
  probe.transport().close(after(Seconds(3)));
  probe.destroy();
  rig.all_gather("");
  probe.check_everything();
}

void dies(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  greet(rig, probe);
  if (rig.rank == 1) {
    if (rig.own_process) _exit(0);  // without a word, as a crash
    probe.destroy();
    return;
  }
  rig.expect(probe.until([&] { return !probe.failed_.empty(); }, 10), "its death is noticed");
  if (probe.failed_[1].size() != 1) return;
  const Status& status = probe.failed_[1][0];
  rig.expect(status.code() == StatusCode::kPeerFailure, "as PeerFailure: " + status.text());
  rig.expect(status.message().find("rank 1") != std::string::npos, "that names it: " + status.text());
  expect_later_sends_fail(rig, probe, 1);
  expect_settled(rig, probe);
  probe.transport().close(after(Seconds(1)));
}

// In the middle of traffic both ways; the third rank's traffic goes on.
void is_killed(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  const Clock::time_point start = Clock::now();
  std::uint32_t number = 0;
  const auto send_to_all = [&] {
    for (Rank to = 0; to < rig.ranks; ++to) {
      if (to != rig.rank && probe.failed_[to].empty()) probe.send(to, number, 1_MiB + number);
    }
    ++number;
  };
  send_to_all();
  rig.expect(probe.until([&] { return probe.received_count() >= 2; }), "traffic flows");
  probe.meet();
  for (int i = 0; i < 3; ++i) send_to_all();
  if (rig.rank == 2) {
    probe.run_for(0.01);
    kill(getpid(), SIGKILL);
  }
  rig.expect(probe.until([&] { return !probe.failed_[2].empty(); }, 20), "the survivors notice");
  const Rank survivor = 1 - rig.rank;
  send_to_all();
  rig.expect(probe.until([&] { return probe.all_sent(); }), "everything sent is accounted for");
  // All of them, in any order.
  const auto has_all = [&] {
    for (std::uint32_t i = 0; i < number; ++i) {
      const auto found = probe.received_.find({survivor, 0u, i});
      if (found == probe.received_.end() || found->second.completions != 1) return false;
    }
    return true;
  };
  rig.expect(probe.until(has_all), "the survivors still reach one another");
  rig.expect(probe.failed_[survivor].empty(), "and do not blame one another");
  probe.meet();
  probe.transport().close(after(Seconds(1)));
  rig.expect(seconds_since(start) < 50, "all in time");
}

void belongs_to_another_job(TransportRig& rig) {
  runtime::TransportOptions options;
  options.epoch = rig.rank == 0 ? 111 : 222;
  TransportProbe probe(rig, options);
  if (!probe.is_open()) return;
  if (rig.rank == 0) {
    probe.send(1, 0, 1000);
    std::vector<SentMessage*> together = {&probe.make(1, 1, 10), &probe.make(1, 2, 20)};
    probe.send_together(1, together);
    rig.expect(probe.until([&] { return probe.all_sent(); }), "the network takes it");
  } else {
    rig.expect(probe.until([&] { return probe.transport().stats().frames_dropped == 3; }), "its frames are dropped");
    rig.expect(probe.asked_ == 0, "and nobody is asked for a place");
    rig.expect(probe.failed_.empty(), "no peer has failed");
  }
  probe.meet();
  probe.transport().close(after(Seconds(0.2)));
}

// Random bytes, other protocols and half-open connections at every TCP port this process listens on.
void strangers_knock(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  probe.send(1 - rig.rank, 0, 1000);
  // The other rank may be a round ahead by the time that this one looks.
  rig.expect(probe.until([&] { return probe.received_count() >= 1 && probe.all_sent(); }), "traffic ahead of them");
  const std::vector<Listener> listeners = tcp_listeners_of_this_process();
  for (std::uint32_t round = 1; round <= 20; ++round) {
    for (const Listener& listener : listeners) knock(listener, round);
    probe.send(1 - rig.rank, round, round * 20'000);
    rig.expect(probe.until([&] { return probe.received_count() > round; }), "traffic goes on");
  }
  rig.expect(probe.until([&] { return probe.all_sent(); }), "all is sent");
  probe.meet();
  probe.transport().close(after(Seconds(5)));
  probe.check_everything();
}

constexpr TransportScenario kScenarios[] = {
    {"a refused message fails its sender", 2, refused},
    {"close ends what is under way, each once", 2, closes_with_sends_under_way},
    {"a peer closes in the middle of a message", 2, closes_in_the_middle_of_a_message},
    {"a peer that said goodbye has not failed", 2, says_goodbye},
    {"nobody waits for the word of a peer that has left", 2, settles_without_one_that_left},
    {"a peer that heard a goodbye may leave without one", 2, hears_a_goodbye},
    {"a peer that dies has failed", 2, dies},
    {"a peer killed under load takes nobody else with it", 3, is_killed, true, 2},
    {"frames of another job are dropped", 2, belongs_to_another_job, true},
    {"strangers at our ports change nothing", 2, strangers_knock, true},
};

}  // namespace

std::span<const TransportScenario> failure_scenarios() { return kScenarios; }

}  // namespace casync::test
