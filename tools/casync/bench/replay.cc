// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/replay.h"

#include <map>
#include <tuple>

#include "casync/graph/access.h"
#include "casync/graph/task_graph.h"
#include "casync/strategies/strategy.h"
#include "compll/codec/codec.h"
#include "runtime/executor/kept_state.h"
#include "runtime/executor/task_runner.h"
#include "tools/casync/bench/inputs.h"
#include "tools/casync/codec_figures/trial.h"

namespace casync::tools {
namespace {

using compll::Codec;
using runtime::KeptBy;
using Code = std::vector<std::byte>;

Result<CodecTraits> traits_of(const CodecChoice& choice) {
  const Result<std::unique_ptr<Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  CASYNC_RETURN_IF_ERROR(codec.status());
  const compll::CodecInfo& info = (*codec)->info();
  return CodecTraits{info.exact_merge, info.bits_per_element, info.coded_terms, info.votes, info.has_result};
}

/// One rank's graph under way.
struct Actor {
  TaskGraph graph;
  std::vector<float> gradient;
  std::vector<Code> codes;   // by buffer
  std::vector<int> waiting;  // by task: predecessors that are not done; -1 once it is done itself
};

class Replay {
 public:
  Replay(std::unique_ptr<Codec> first, std::unique_ptr<Codec> second, std::unique_ptr<Codec> none, int ranks,
         const ReplayedStep& step)
      : first_(std::move(first)),
        second_(std::move(second)),
        none_(std::move(none)),
        scale_(1.0f / static_cast<float>(ranks)),
        step_(step) {}

  void add(TaskGraph graph, std::vector<float> gradient) {
    Actor actor{std::move(graph), std::move(gradient), {}, {}};
    actor.codes.resize(actor.graph.buffers().size());
    for (std::size_t i = 0; i < actor.graph.tasks().size(); ++i) {
      actor.waiting.push_back(actor.graph.predecessors(static_cast<TaskId>(i)));
    }
    actors_.push_back(std::move(actor));
  }

  /// In rounds, because a recv has to wait for another rank's send.
  std::vector<float> finish() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < actors_.size(); ++rank) moved = advance(static_cast<Rank>(rank)) || moved;
    }
    return std::move(actors_.front().gradient);
  }

 private:
  bool advance(Rank rank) {
    Actor& actor = actors_[static_cast<std::size_t>(rank)];
    bool moved = false;
    for (std::size_t i = 0; i < actor.waiting.size(); ++i) {
      const auto run = [&](const auto& task) { return this->run(rank, actor, task); };
      if (actor.waiting[i] != 0 || !std::visit(run, actor.graph.tasks()[i])) continue;
      actor.waiting[i] = -1;
      moved = true;
      for (TaskId next : actor.graph.successors(static_cast<TaskId>(i))) --actor.waiting[TaskGraph::index(next)];
    }
    return moved;
  }

  const Buffer& buffer(const Actor& actor, BufferId id) const { return actor.graph.buffers()[TaskGraph::index(id)]; }
  const Codec& codec(const Actor& actor, BufferId id) const {
    const Hop hop = buffer(actor, id).hop;
    return hop == Hop::kFirst ? *first_ : hop == Hop::kSecond ? *second_ : *none_;
  }
  static ConstView view(const Code& code) { return {code.data(), code.size()}; }

  /// The numbers that the session draws for this task.
  compll::EncodeContext context(Rank self, const Codec& to, KeptBy use, Slice slice) const {
    return runtime::context_of(self, step_.key, step_.number, to.info(), use, slice, step_.seed);
  }

  bool run(Rank self, Actor& actor, const Encode& task) {
    Code& code = actor.codes[TaskGraph::index(task.to)];
    const Codec& to = codec(actor, task.to);
    code.resize(to.encoded_bound(task.from.count));
    const float* from = actor.gradient.data() + task.from.first;
    const compll::EncodeContext numbers = context(self, to, KeptBy::kEncode, task.from);
    code.resize(to.encode(from, task.from.count, {}, numbers, code.data()).size);
    return true;
  }

  bool run(Rank self, Actor& actor, const Merge& task) {
    std::vector<compll::Contribution> terms;
    const Codec* of_codes = first_.get();
    for (const std::optional<BufferId>& part : task.contributions) {
      if (!part) {
        terms.push_back({{}, actor.gradient.data() + task.local.first});
        continue;
      }
      const Code& code = actor.codes[TaskGraph::index(*part)];
      const bool is_sum = buffer(actor, *part).hop == Hop::kSum;
      if (is_sum) terms.push_back({{}, reinterpret_cast<const float*>(code.data())});
      if (is_sum) continue;
      terms.push_back({view(code), nullptr});
      of_codes = &codec(actor, *part);
    }
    const Codec& to = codec(actor, task.to);
    Code merged(to.encoded_bound(task.local.count));
    const float scale = task.last ? scale_ : 1.0f;
    // A sum on its way to the owner is a contribution there, as a gradient is.
    const KeptBy use = buffer(actor, task.to).hop == Hop::kFirst ? KeptBy::kEncode : KeptBy::kMerge;
    const compll::EncodeContext numbers = context(self, to, use, buffer(actor, task.to).slice);
    const compll::Encoded encoded = of_codes->merge(terms, task.local.count, scale, to, {}, numbers, merged.data());
    merged.resize(encoded.size);
    actor.codes[TaskGraph::index(task.to)] = std::move(merged);
    return true;
  }

  bool run(Rank, Actor& actor, const Decode& task) {
    const Code& code = actor.codes[TaskGraph::index(task.from)];
    float* const to = actor.gradient.data() + task.to.first;
    codec(actor, task.from).decode(view(code), task.to.count, to);
    if (first_->info().has_result) make_result(task.to, to);
    return true;
  }

  /// Makes the gradient of decoded elements, as in a first step.
  void make_result(Slice slice, float* elements) const {
    const std::vector<float> before = states_from(*first_, slice.count);
    std::vector<float> after = before;
    const compll::EncodeContext numbers{step_.seed, step_.key, step_.number, slice.first};
    first_->result(elements, slice.count, {before.data(), after.data(), slice.count}, numbers, elements);
  }

  bool run(Rank self, Actor& actor, const Send& task) {
    sent_[{self, task.to, task.id}] = actor.codes[TaskGraph::index(task.from)];
    return true;
  }

  bool run(Rank self, Actor& actor, const Recv& task) {
    const auto found = sent_.find({task.from, self, task.id});
    if (found == sent_.end()) return false;
    actor.codes[TaskGraph::index(task.to)] = std::move(found->second);
    sent_.erase(found);
    return true;
  }

  std::unique_ptr<Codec> first_, second_, none_;
  float scale_;
  ReplayedStep step_;
  std::vector<Actor> actors_;
  std::map<std::tuple<Rank, Rank, MessageId>, Code> sent_;
};

}  // namespace

Result<std::vector<float>> replay_first_step(const Decision& decision, const Topology& topology, Elements elements,
                                             std::size_t first_owner, const ReplayedStep& step) {
  Result<std::unique_ptr<Codec>> first = compll::make_codec(decision.codec.name, decision.codec.parameters);
  CASYNC_RETURN_IF_ERROR(first.status());
  Result<std::unique_ptr<Codec>> second = compll::make_codec(decision.second_hop.name, decision.second_hop.parameters);
  CASYNC_RETURN_IF_ERROR(second.status());
  Result<std::unique_ptr<Codec>> none = compll::make_codec("none");
  CASYNC_RETURN_IF_ERROR(none.status());
  Replay replay(std::move(*first), std::move(*second), std::move(*none), topology.ranks, step);
  for (Rank rank = 0; rank < topology.ranks; ++rank) {
    Result<TaskGraph> graph = make_graph(decision, elements, topology, rank, first_owner, traits_of);
    CASYNC_RETURN_IF_ERROR(graph.status());
    replay.add(std::move(*graph), make_input(rank, elements));
  }
  return replay.finish();
}

}  // namespace casync::tools
