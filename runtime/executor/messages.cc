// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/messages.h"

#include <optional>
#include <string>
#include <variant>

#include "base/check.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/bundles.h"
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

}  // namespace

Messages::Messages(const RunTable& runs, Links& links, GradientSteps& steps, AsynchronousRanks& asynchronous,
                   Bundles& bundles, Comparisons& comparisons, Failures& failures, WorkRecord& record,
                   const ExecutorEvents& events)
    : runs_(runs),
      links_(links),
      steps_(steps),
      asynchronous_(asynchronous),
      bundles_(bundles),
      comparisons_(comparisons),
      failures_(failures),
      record_(record),
      events_(events) {}

Outgoing Messages::outgoing(const ReadyTask& ready) {
  GradientRun& run = *ready.run;
  const Send& send = std::get<Send>(run.graph.tasks()[TaskGraph::index(ready.task)]);
  const RunBuffers::State& state = run.state(send.from);
  Message message;
  message.key = {run.key, run.step.number(), run.parts ? kBundledPartition : send.id.partition, send.id.hop};
  if (run.answering) message.key = AnswerSteps::key_of(run, ready.task, send);
  message.codec = run.codec_of(send.from).info().number;
  message.finite = state.finite;
  message.elements = run.buffers.elements_in(send.from);
  message.payload_bytes = state.bytes;
  return {message, {state.memory.data, state.bytes}, run.tasks.cookie(ready.task)};
}

Placement Messages::place(Rank from, const Message& message) {
  if (message.key.hop >= kLeastNoticeHop && message.payload_bytes == 0) return Placement::here({});
  Placement placement = place_payload(from, message);
  if (placement.kind == Placement::Kind::kLater) links_.put_off(from, message.key);
  return placement;
}

Placement Messages::place_payload(Rank from, const Message& message) {
  if (failures_.failing() || comparisons_.is_wanted()) return Placement::later();
  if (message.key.partition == kBundledPartition) return bundles_.place(from, message);
  GradientRun* const run = runs_.find(message.key.gradient);
  if (run == nullptr) return Placement::later();  // declared there already, here soon
  if (run->asynchronous && message.key.hop == kContributionHop) return place_contribution(*run, from, message);
  const std::uint32_t step = message.key.step;
  if (!run->step.is_under_way(step)) {
    if (step >= run->step.completed()) return Placement::later();
    return Placement::refuse(data_loss("it sent " + named(*run, message.key) + ", and that step is over here"));
  }
  GradientRun* const bundle = run->seat.bundle();
  if (bundle != nullptr && bundle->step.is_under_way(step)) bundles_.dissolve(*bundle);
  return place_whole(*run, from, message, {message.key.partition, message.key.hop});
}

/// Places a contribution to a partition that this rank owns, of any step of its sender.
Placement Messages::place_contribution(GradientRun& run, Rank from, const Message& message) {
  GradientRun* const side = run.owner_side();
  const MessageId id{message.key.partition, message.key.hop};
  const std::optional<TaskId> batch = side != nullptr ? side->answering->find(id.partition) : std::nullopt;
  if (!batch) return refusal(run, message, "nothing like it is expected here");
  const std::uint32_t step = message.key.step;
  if (side->answering->puts_off(step)) return Placement::later();
  const AnswerBatches& batches = side->answering->of(*batch).batches();
  if (step < batches.contributed(from)) return refusal(run, message, "that step is over here");
  if (batches.waits(from)) return refusal(run, message, "the one to an earlier step has no answer yet");
  if (!side->answering->contributes(from)) {
    if (message.payload_bytes == 0) return Placement::here({});
    return refusal(run, message, "a dedicated server contributes nothing");
  }
  return place_whole(*side, from, message, id);
}

Placement Messages::place_whole(GradientRun& run, Rank from, const Message& message, MessageId id) {
  Arrivals::Arrival* const arrival = run.arrivals.find(id, from);
  const auto refuse = [&](const std::string& why) { return refusal(run, message, why); };
  if (arrival == nullptr) return refuse("nothing like it is expected here");
  if (arrival->has_begun()) return refuse("it came twice");
  const BufferId buffer = arrival->to();
  const compll::Codec& codec = run.codec_of(buffer);
  const Elements elements = run.buffers.elements_in(buffer);
  const Bytes bound = elements == 0 ? 0 : run.buffers.bound_of(buffer);  // an answer alone: it has no memory
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
  arrival->begin();
  steps_.give_memory(run, buffer);
  run.buffers.expect(buffer, message.payload_bytes);
  run.tasks.begin_moving(arrival->task());
  return Placement::here({run.state(buffer).memory.data, message.payload_bytes});
}

void Messages::received(Rank from, const Message& message, Status status) {
  if (failures_.failing()) return;
  if (!status.is_ok()) {
    if (status.code() == StatusCode::kPeerFailure) return;  // failed() says the same
    const GradientRun* const run = runs_.find(message.key.gradient);
    const std::string about = run != nullptr ? named(*run, message.key) : "an unknown gradient";
    return failures_.report(
        {status.code(), "message from rank " + std::to_string(from) + " (" + about + "): " + status.message()});
  }
  if (message.key.hop == kNoticeHop) return comparisons_.take_notice(from, message);
  if (message.key.hop >= kEndHop) return links_.take_coordination(from, message);
  if (asynchronous_.take_word(from, message)) return;
  if (message.key.hop >= kLeastNoticeHop) {
    MessageKey arrived = message.key;
    arrived.hop &= ~kArrivedBit;
    return links_.arrived(from, arrived);
  }
  links_.received(from, message.key);
  received_payload(from, message);
}

void Messages::received_payload(Rank from, const Message& message) {
  GradientRun* const run = runs_.find(message.key.gradient);
  const bool bundled = message.key.partition == kBundledPartition;
  if (bundled && bundles_.received(from, message)) return;
  if (run != nullptr && run->asynchronous && message.key.hop == kContributionHop) {
    return asynchronous_.take_contribution(*run->owner_side(), from, message);
  }
  CASYNC_CHECK(run != nullptr && run->step.is_under_way());
  received_whole(*run, from, message, {bundled ? 0 : message.key.partition, message.key.hop});
}

void Messages::received_whole(GradientRun& run, Rank from, const Message& message, MessageId id) {
  const Arrivals::Arrival* const arrival = run.arrivals.find(id, from);
  CASYNC_CHECK(arrival != nullptr && arrival->has_begun());
  run.buffers.receive(arrival->to(), message.finite, !run.codec_of(arrival->to()).info().identity);
  record_.record(SpanKind::kRecv, run, id, from, message.payload_bytes, 0, run.tasks.moving_since(arrival->task()));
  steps_.complete(run, arrival->task());
}

void Messages::sent(std::uint64_t cookie, Status status) {
  if (cookie == kNoticeCookie) return;
  GradientRun& run = runs_.at(cookie >> 32);
  const TaskId task{static_cast<std::uint32_t>(cookie)};
  const Send& send = std::get<Send>(run.graph.tasks()[TaskGraph::index(task)]);
  const Bytes bytes = run.state(send.from).bytes;
  links_.sent(send.to, bytes);
  if (run.parts) run.parts->end_send();
  if (!status.is_ok() || failures_.failing()) return;  // failed() said why, or will
  if (run.parts && !run.step.is_under_way()) return bundles_.sent_dissolved(run);
  if (run.answering) return asynchronous_.answer_left(run, task, send, bytes);
  record_.record(SpanKind::kSend, run, send.id, send.to, bytes, 0, run.tasks.moving_since(task));
  steps_.complete(run, task);
}

void Messages::failed(Rank peer, Status status) {
  if (!failures_.failing()) events_.peer_broke(peer, status);
}

}  // namespace casync::runtime
