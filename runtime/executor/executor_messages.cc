// SPDX-License-Identifier: Apache-2.0
//
// The progress thread's messages: what leaves when, and where what arrives goes.
#include <string>

#include "base/check.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/message_hops.h"

namespace casync::runtime {
namespace {

std::string named(const GradientRun& run, const MessageKey& key) {
  return "gradient " + run.spec.name + ", step " + std::to_string(key.step) + ", partition " +
         std::to_string(key.partition) + ", hop " + std::to_string(key.hop);
}

Placement refusal(const GradientRun& run, const Message& message, const std::string& why) {
  return Placement::refuse(data_loss("its message (" + named(run, message.key) + ") is refused: " + why));
}

std::uint64_t cookie_of(const GradientRun& run, TaskId task) {
  return std::uint64_t{run.index} << 32 | TaskGraph::index(task);
}

}  // namespace

Outgoing Executor::outgoing(const ReadyTask& ready) const {
  GradientRun& run = *ready.run;
  const Send& send = std::get<Send>(run.graph.tasks()[TaskGraph::index(ready.task)]);
  const GradientRun::BufferState& state = run.state(send.from);
  Message message;
  message.key = {run.key, run.step, run.parts ? kBundledPartition : send.id.partition, send.id.hop};
  if (run.answering) message.key = AsynchronousRanks::key_of_answer(run, ready.task, send);
  message.codec = run.codec_of(send.from).info().number;
  message.finite = state.finite;
  message.elements = run.elements_in(send.from);
  message.payload_bytes = state.bytes;
  return {message, {state.memory.data, state.bytes}, cookie_of(run, ready.task)};
}

GradientRun* Executor::find_run(std::uint64_t key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

void Executor::send_notices(std::uint64_t count, std::uint32_t steps) {
  Message notice;
  notice.key.hop = kNoticeHop;
  notice.key.step = steps;
  notice.key.gradient = count;
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    const Outgoing out{notice, {}, kNoticeCookie};
    if (peer != options_.rank) transport_->send(peer, {&out, 1});
  }
}

void Executor::take_notice(Rank from, const Message& message) {
  if (message.key.gradient <= comparisons()) return;  // that one is over
  comparing_ = from;
  comparing_for_ = message.key.gradient;
  comparing_from_ = message.key.step;
  events_.peer_compares(comparing_for_);
  check_comparing();
}

Placement Executor::place(Rank from, const Message& message) {
  if (message.key.hop >= kLeastNoticeHop && message.payload_bytes == 0) return Placement::here({});
  Placement placement = place_payload(from, message);
  if (placement.kind == Placement::Kind::kLater) links_.put_off(from, message.key);
  return placement;
}

Placement Executor::place_payload(Rank from, const Message& message) {
  if (failing() || comparison_wanted_.load()) return Placement::later();
  if (message.key.partition == kBundledPartition) return bundles_.place(from, message);
  GradientRun* const run = find_run(message.key.gradient);
  if (run == nullptr) return Placement::later();  // declared there already, here soon
  if (run->asynchronous && message.key.hop == kContributionHop) return place_contribution(*run, from, message);
  const std::uint32_t step = message.key.step;
  if (!run->active || run->step != step) {
    if (step >= run->completed.load(std::memory_order_relaxed)) return Placement::later();
    return Placement::refuse(data_loss("it sent " + named(*run, message.key) + ", and that step is over here"));
  }
  if (run->bundle != nullptr && run->bundle->active && run->bundle->step == step) bundles_.dissolve(*run->bundle);
  return place_whole(*run, from, message, {message.key.partition, message.key.hop});
}

/// Places a contribution to a partition that this rank owns, of any step of its sender.
Placement Executor::place_contribution(GradientRun& run, Rank from, const Message& message) {
  GradientRun* const side = run.owner_side.get();
  const MessageId id{message.key.partition, message.key.hop};
  if (side == nullptr || !side->answering->owns(id.partition)) {
    return refusal(run, message, "nothing like it is expected here");
  }
  const std::uint32_t step = message.key.step;
  if (side->answering->puts_off(step)) return Placement::later();
  const AnswerBatches& batches = side->answering->batches_of(side->answering->task_of(id.partition));
  if (step < batches.contributed(from)) return refusal(run, message, "that step is over here");
  if (batches.waits(from)) return refusal(run, message, "the one to an earlier step has no answer yet");
  if (!side->answering->contributes(from)) {
    if (message.payload_bytes == 0) return Placement::here({});
    return refusal(run, message, "a dedicated server contributes nothing");
  }
  return place_whole(*side, from, message, id);
}

/// Places a message of a step that is under way.
Placement Executor::place_whole(GradientRun& run, Rank from, const Message& message, MessageId id) {
  GradientRun::Arrival* const arrival = run.arrival(id, from);
  const auto refuse = [&](const std::string& why) { return refusal(run, message, why); };
  if (arrival == nullptr) return refuse("nothing like it is expected here");
  if (arrival->begun) return refuse("it came twice");
  const BufferId buffer = std::get<Recv>(run.graph.tasks()[TaskGraph::index(arrival->task)]).to;
  const compll::Codec& codec = run.codec_of(buffer);
  const Elements elements = run.elements_in(buffer);
  const Bytes bound = run.bound_of(buffer);
  if (message.codec != codec.info().number) {
    return refuse("codec number " + std::to_string(message.codec) + ", expected " +
                  std::to_string(codec.info().number) + " (" + codec.info().name + ")");
  }
  if (message.elements != elements) {
    return refuse(std::to_string(message.elements) + " elements, expected " + std::to_string(elements));
  }
  if (message.payload_bytes > bound) {
    return refuse(std::to_string(message.payload_bytes) + " bytes, expected at most " + std::to_string(bound));
  }
  if ((codec.info().identity || run.parts) && message.payload_bytes != bound) {
    return refuse(std::to_string(message.payload_bytes) + " bytes, expected " + std::to_string(bound));
  }
  arrival->begun = true;
  give_memory(run, buffer);
  GradientRun::BufferState& state = run.state(buffer);
  state.bytes = message.payload_bytes;
  run.since[TaskGraph::index(arrival->task)] = Clock::now();
  return Placement::here({state.memory.data, message.payload_bytes});
}

void Executor::received(Rank from, const Message& message, Status status) {
  if (failing()) return;
  if (status.is_ok() && message.key.hop == kNoticeHop) return take_notice(from, message);
  if (status.is_ok() && message.key.hop >= kEndHop) return links_.take_coordination(from, message);
  if (status.is_ok() && asynchronous_.take_word(from, message)) return;
  if (status.is_ok() && message.key.hop >= kLeastNoticeHop) {
    MessageKey arrived = message.key;
    arrived.hop &= ~kArrivedBit;
    return links_.arrived(from, arrived);
  }
  if (status.is_ok()) links_.received(from, message.key);
  GradientRun* const run = find_run(message.key.gradient);
  if (!status.is_ok()) {
    if (status.code() == StatusCode::kPeerFailure) return;  // failed() says the same
    const std::string what = run != nullptr ? named(*run, message.key) : "an unknown gradient";
    return report(
        {status.code(), "message from rank " + std::to_string(from) + " (" + what + "): " + status.message()});
  }
  if (message.key.partition == kBundledPartition && bundles_.received(from, message)) return;
  if (run != nullptr && run->asynchronous && message.key.hop == kContributionHop) {
    return asynchronous_.take_contribution(*run->owner_side, from, message);
  }
  CASYNC_CHECK(run != nullptr && run->active);
  if (message.key.partition == kBundledPartition) return received_whole(*run, from, message, {0, message.key.hop});
  received_whole(*run, from, message, {message.key.partition, message.key.hop});
}

void Executor::received_whole(GradientRun& run, Rank from, const Message& message, MessageId id) {
  const GradientRun::Arrival* const arrival = run.arrival(id, from);
  CASYNC_CHECK(arrival != nullptr && arrival->begun);
  const Recv& recv = std::get<Recv>(run.graph.tasks()[TaskGraph::index(arrival->task)]);
  GradientRun::BufferState& state = run.state(recv.to);
  state.finite = message.finite;
  state.unchecked = !run.codec_of(recv.to).info().identity;
  record(SpanKind::kRecv, run, recv.id, from, message.payload_bytes, 0, run.since[TaskGraph::index(arrival->task)]);
  complete(run, arrival->task);
}

void Executor::sent(std::uint64_t cookie, Status status) {
  if (cookie == kNoticeCookie) return;
  GradientRun& run = *by_index_[cookie >> 32];
  const TaskId task{static_cast<std::uint32_t>(cookie)};
  const Send& send = std::get<Send>(run.graph.tasks()[TaskGraph::index(task)]);
  const Bytes bytes = run.state(send.from).bytes;
  links_.sent(send.to, bytes);
  if (run.parts) --run.parts->sends_out;
  if (!status.is_ok() || failing()) return;  // failed() said why, or will
  if (run.parts && !run.active) return bundles_.sent_dissolved(run);
  if (run.answering) return asynchronous_.answer_left(run, task, send, bytes);
  record(SpanKind::kSend, run, send.id, send.to, bytes, 0, run.since[TaskGraph::index(task)]);
  complete(run, task);
}

void Executor::failed(Rank peer, Status status) {
  if (!failing()) events_.peer_broke(peer, status);
}

/// Returns true if this rank waits for another's contribution, and not only for a result that an owner makes of them.
bool Executor::lacks_contribution(const GradientRun& run) const {
  if (!run.active) return false;
  if (rounds_ != nullptr) return true;
  if (const GradientRun& inner = run.under_way(); &inner != &run) return lacks_contribution(inner);
  if (run.asynchronous && (run.owner_side || run.waits_behind)) return true;
  for (std::size_t i = 0; i < run.waits_for.size(); ++i) {
    const Recv* const recv = std::get_if<Recv>(&run.graph.tasks()[i]);
    if (recv != nullptr && recv->id.hop == 0 && run.waits_for[i] != GradientRun::kTaskDone) return true;
  }
  return false;
}

std::string Executor::missing(const GradientRun& run) const {
  if (!run.active) return "nothing is missing any more";
  if (rounds_ != nullptr) return rounds_->missing(run.instead != nullptr ? *run.instead : run);
  if (run.bundle != nullptr && &run.under_way() == run.bundle) return missing(*run.bundle);
  const GradientRun& inner = run.under_way();
  if (run.instead == &inner) return missing(inner);
  if (run.rounds) {
    const std::string turn = std::to_string(run.rounds->turn + 1) + " of " + std::to_string(run.rounds->turns());
    return "turn " + turn + (&inner != &run ? " is done; then " + missing(inner) : " is not computed");
  }
  std::string text;
  int unsent = 0, uncomputed = 0;
  for (std::size_t i = 0; i < run.waits_for.size(); ++i) {
    if (run.waits_for[i] == GradientRun::kTaskDone) continue;
    const Primitive& primitive = run.graph.tasks()[i];
    if (const Recv* recv = std::get_if<Recv>(&primitive)) {
      if (text.size() > 400) continue;
      text += (text.empty() ? "" : "; ") + std::string("nothing came from rank ") + std::to_string(recv->from) +
              " for partition " + std::to_string(recv->id.partition);
      if (!run.asynchronous) continue;
      const std::string waits = asynchronous_.answer_waits_for(run, recv->from, recv->id.partition);
      if (!waits.empty()) text += ": " + waits;
    } else if (std::holds_alternative<Send>(primitive)) {
      ++unsent;
    } else {
      ++uncomputed;
    }
  }
  if (text.empty()) text = "all messages came";
  return text + "; " + std::to_string(unsent) + " messages not sent, " + std::to_string(uncomputed) +
         " tasks not computed";
}

}  // namespace casync::runtime
