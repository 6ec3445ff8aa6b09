// SPDX-License-Identifier: Apache-2.0
//
// Scenarios about messages that arrive: sizes, orders, places, fusion, checksums.
#include <array>
#include <map>
#include <random>

#include "tests/conformance/transport_probe.h"

namespace casync::test {
namespace {

using runtime::Message;
using runtime::Placement;

Rank other(const TransportRig& rig) { return 1 - rig.rank; }

// Everybody keeps moving until everybody is done: nobody may leave a peer alone with a half-sent message.
void finish(TransportRig& rig, TransportProbe& probe) {
  rig.expect(probe.until([&] { return probe.all_sent(); }), "all is sent in time");
  probe.meet();
  probe.transport().close(after(Seconds(5)));
  probe.check_everything();
}

void sizes(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  const std::vector<Bytes> all = {0, 1, 3, 255, 4_KiB, 64_KiB - 1, 64_KiB, 300'001, 1_MiB, 1_MiB + 3, 9_MiB};
  for (std::size_t i = 0; i < all.size(); ++i) probe.send(other(rig), static_cast<std::uint32_t>(i), all[i]);
  rig.expect(probe.until([&] { return probe.received_count() == all.size(); }), "all sizes arrive");
  finish(rig, probe);
}

void pieces_of_another_size(TransportRig& rig) {
  runtime::TransportOptions options;
  options.piece_bytes = rig.rank == 0 ? 64_KiB : 100;  // shorter than any piece may be
  options.checksum = rig.rank == 0;
  TransportProbe probe(rig, options);
  if (!probe.is_open()) return;
  for (std::uint32_t i = 0; i < 4; ++i) probe.send(other(rig), i, i * 100'000 + 7);
  rig.expect(probe.until([&] { return probe.received_count() == 4; }), "all arrive");
  finish(rig, probe);
}

void many_messages(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  constexpr std::uint32_t kMessages = 60;
  std::mt19937 random(static_cast<unsigned>(rig.rank));
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    for (Rank to = 0; to < rig.ranks; ++to) {
      probe.unasked_ = random() % 2 == 0;
      if (to != rig.rank) probe.send(to, i, random() % (i % 10 == 0 ? 400'000 : 9'000), i % 3);
    }
    if (i % 7 == 0) probe.transport().progress();
  }
  const std::size_t expected = kMessages * static_cast<std::size_t>(rig.ranks - 1);
  rig.expect(probe.until([&] { return probe.received_count() == expected; }), "all messages arrive");
  finish(rig, probe);
}

void arrives_before_it_is_wanted(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  const std::vector<Bytes> all = {0, 16, 70'000, 1_MiB + 3, 3_MiB};
  bool wanted = false;
  probe.answer = [&](Rank from, const Message& message) {
    return wanted ? probe.place_in_memory(from, message) : Placement::later();
  };
  std::uint32_t messages = 0;
  for (const bool unasked : {false, true}) {
    probe.unasked_ = unasked;
    for (const Bytes bytes : all) probe.send(other(rig), messages++, bytes);
  }
  const int asked = static_cast<int>(messages);
  rig.expect(probe.until([&] { return probe.asked_ >= asked; }), "each message is announced");
  probe.run_for(0.05);
  rig.expect(probe.asked_ == asked, "and not again until retry_held()");
  probe.transport().retry_held();
  rig.expect(probe.until([&] { return probe.asked_ >= 2 * asked; }), "retry_held() asks again");
  wanted = true;
  probe.transport().retry_held();
  rig.expect(probe.until([&] { return probe.received_count() == messages; }), "they arrive once they are wanted");
  finish(rig, probe);
}

void waits_for_its_gradient(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  constexpr std::array<Bytes, 3> kSizes = {0, 1000, 3_MiB};
  constexpr std::uint64_t kLate = 2;  // the gradient that is wanted last
  std::uint64_t wanted = 0;
  std::map<std::uint64_t, std::size_t> asked;  // by gradient
  probe.answer = [&](Rank from, const Message& message) {
    ++asked[message.key.gradient];
    return message.key.gradient == wanted ? probe.place_in_memory(from, message) : Placement::later();
  };
  for (std::uint32_t i = 0; i < 2 * kSizes.size(); ++i) {
    SentMessage& message = probe.make(other(rig), i, kSizes[i / 2]);
    message.outgoing.message.key.gradient = 1 + i % 2;
    probe.send_together(other(rig), {&message});
  }
  rig.expect(probe.until([&] { return asked[1] >= kSizes.size() && asked[kLate] >= kSizes.size(); }),
             "all are put off");
  probe.run_for(0.05);
  wanted = 1;
  probe.transport().retry_held(1);
  rig.expect(asked[1] == kSizes.size(), "nobody is asked from inside retry_held()");
  rig.expect(probe.until([&] { return probe.received_count() == kSizes.size(); }), "those of a gradient arrive");
  rig.expect(asked[kLate] == kSizes.size(), "and nobody is asked about another one's");
  wanted = kLate;
  probe.transport().retry_held(kLate);
  rig.expect(probe.until([&] { return probe.received_count() == 2 * kSizes.size(); }), "the others arrive, too");
  for (auto& [key, one] : probe.received_) rig.expect(one.holds_the_pattern(other(rig)), "each one whole");
  rig.expect(probe.until([&] { return probe.all_sent(); }), "all is sent in time");
  probe.meet();
  probe.transport().close(after(Seconds(5)));
}

// A message that a peer has put off must not block those that it waits for: that would be a deadlock.
void waiting_messages_let_others_pass(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  constexpr std::uint32_t kMessages = 9;
  std::uint32_t wanted = kMessages - 1;  // the last one sent first
  probe.answer = [&](Rank from, const Message& message) {
    return message.key.partition == wanted ? probe.place_in_memory(from, message) : Placement::later();
  };
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    probe.unasked_ = i % 2 == 1;
    probe.send(other(rig), i, i % 3 == 2 ? 9_MiB : 2_MiB + i);
  }
  for (std::size_t arrived = 1; arrived <= kMessages; ++arrived, --wanted) {
    probe.transport().retry_held();
    rig.expect(probe.until([&] { return probe.received_count() == arrived; }),
               "message " + std::to_string(wanted) + " passes those before it");
  }
  finish(rig, probe);
}

void fused(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  bool wanted = false;
  probe.answer = [&](Rank from, const Message& message) {
    return wanted || message.key.partition % 3 != 0 ? probe.place_in_memory(from, message) : Placement::later();
  };
  std::vector<SentMessage*> together;
  for (std::uint32_t i = 0; i < 20; ++i) together.push_back(&probe.make(other(rig), i, i * i));
  probe.send_together(other(rig), together);
  rig.expect(probe.until([&] { return probe.asked_ >= 20; }), "each part is announced");
  wanted = true;
  probe.transport().retry_held();
  rig.expect(probe.until([&] { return probe.received_count() == 20; }), "each part arrives");
  rig.expect(probe.until([&] { return probe.all_sent(); }), "each part is sent");
  const runtime::TransportStats stats = probe.transport().stats();
  rig.expect(stats.messages_sent == 1, "they count as one message");
  rig.expect(stats.messages_received == 1, "on the other side, too");
  rig.expect(stats.payload_bytes_sent == 2470 && stats.payload_bytes_received == 2470, "payload bytes are counted");
  rig.expect(stats.wire_bytes_sent > 2470 && stats.wire_bytes_received > 2470, "wire bytes are counted");
  finish(rig, probe);
}

void fused_in_several(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  std::vector<SentMessage*> together;
  for (std::uint32_t i = 0; i < 5; ++i) together.push_back(&probe.make(other(rig), i, 30'000));  // two in 64 KiB
  probe.send_together(other(rig), together);
  rig.expect(probe.until([&] { return probe.received_count() == 5 && probe.all_sent(); }), "all arrive");
  const runtime::TransportStats stats = probe.transport().stats();
  rig.expect(stats.messages_sent == 3, "as few wire messages leave as fit");
  rig.expect(stats.messages_received == 3, "and as few arrive");
  finish(rig, probe);
}

// The sender breaks its promise and writes into a payload under way: what the network or bad memory would do.
void damaged_on_the_way(TransportRig& rig) {
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  if (rig.rank == 0) {
    SentMessage& message = probe.send(1, 0, 3_MiB);
    message.payload[5] ^= std::byte{4};
    probe.until([&] { return probe.all_sent(); });
  } else {
    auto& received = probe.received_[{0, 0u, 0u}];
    rig.expect(probe.until([&] { return received.completions == 1; }), "it is reported");
    rig.expect(received.status.code() == StatusCode::kDataLoss, "as DataLoss: " + received.status.text());
    rig.expect(received.status.message().find("rank 0") != std::string::npos, "that names the sender");
    rig.expect(received.guards_are_whole(), "and nothing was written outside its memory");
  }
  probe.meet();
  probe.transport().close(after(Seconds(5)));
}

// The third rank is sent nothing, and does not move until the end.
void leaves_as_soon_as_it_is_settled(TransportRig& rig) {
  constexpr std::array<Bytes, 5> kSizes = {3_MiB + 1, 200'000, 10, 0, 70'000};
  TransportProbe probe(rig);
  if (!probe.is_open()) return;
  if (rig.rank == 0) {
    rig.expect(rig.ranks == 3, "three ranks");
    for (std::size_t i = 0; i < kSizes.size(); ++i) probe.send(1, static_cast<std::uint32_t>(i), kSizes[i]);
    probe.until([&] { return probe.all_sent(); });
    probe.transport().settle();
    rig.expect(probe.until([&] { return probe.transport().settled(); }), "it is settled");
    probe.transport().close(Clock::now());
    probe.destroy();
  } else if (rig.rank == 1) {
    rig.expect(probe.until([&] { return probe.received_count() == kSizes.size(); }), "everything arrives");
    probe.run_for(0.3);
    probe.check_everything();
    rig.expect(probe.failed_.empty(), "and that its sender left is no failure");
  }
  rig.all_gather("");
  if (rig.rank != 0) probe.transport().close(after(Seconds(1)));
}

constexpr TransportScenario kScenarios[] = {
    {"payloads of every size arrive whole", 2, sizes},
    {"each side cuts payloads as it likes", 2, pieces_of_another_size},
    {"many messages between three ranks arrive in any order", 3, many_messages},
    {"a message waits until it is wanted", 2, arrives_before_it_is_wanted},
    {"a message waits until its gradient is asked about again", 2, waits_for_its_gradient},
    {"messages that wait let others pass", 2, waiting_messages_let_others_pass},
    {"small messages travel together", 2, fused},
    {"messages that do not fit into one travel in as few as they do", 2, fused_in_several},
    {"who is settled may leave at once", 3, leaves_as_soon_as_it_is_settled},
    {"a payload damaged on the way is DataLoss", 2, damaged_on_the_way, true},
};

}  // namespace

std::span<const TransportScenario> delivery_scenarios() { return kScenarios; }

}  // namespace casync::test
