// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "casync/graph/access.h"
#include "casync/graph/graph_text.h"
#include "casync/graph/task_graph.h"

namespace casync {
namespace {

using std::to_string;

bool overlap(const Slice& a, const Slice& b) { return a.first < b.first + b.count && b.first < a.first + a.count; }

void sort_by_position(std::vector<std::pair<Slice, std::size_t>>& slices) {
  std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
}

std::set<std::size_t> all_before(std::size_t t, const std::vector<std::vector<std::size_t>>& before) {
  std::set<std::size_t> found;
  std::vector<std::size_t> open{t};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (std::size_t earlier : before[at]) {
      if (found.insert(earlier).second) open.push_back(earlier);
    }
  }
  return found;
}

/// A graph, its tasks by number, and the words for what is wrong with one.
class Inspection {
 protected:
  explicit Inspection(const TaskGraph& graph) : graph_(graph) {}

  const TaskGraph& graph() const { return graph_; }
  std::size_t size() const { return graph_.tasks().size(); }
  const Primitive& task(std::size_t t) const { return graph_.tasks()[t]; }
  const Buffer& buffer(BufferId id) const { return graph_.buffers()[TaskGraph::index(id)]; }
  Status wrong(std::size_t t, const std::string& what) const {
    return internal_error("task " + to_string(t) + " (" + task_text(graph_, TaskId(t)) + "): " + what);
  }

 private:
  const TaskGraph& graph_;
};

/// Buffers, messages and order. One question per function, in an order in which each may rely on the earlier answers.
class StructureInspection : Inspection {
 public:
  StructureInspection(const TaskGraph& graph, Elements elements, int ranks, Rank self)
      : Inspection(graph), elements_(elements), ranks_(ranks), self_(self) {}

  Status run() const {
    CASYNC_RETURN_IF_ERROR(buffers_exist());
    CASYNC_RETURN_IF_ERROR(slices_agree());
    CASYNC_RETURN_IF_ERROR(buffers_are_written_once());
    CASYNC_RETURN_IF_ERROR(messages_have_names());
    CASYNC_RETURN_IF_ERROR(merges_count_once());
    CASYNC_RETURN_IF_ERROR(sums_stay_here());
    return order_has_no_circle();
  }

 private:
  Status buffers_exist() const {
    for (std::size_t t = 0; t < size(); ++t) {
      std::optional<BufferId> stranger;
      const auto look = [&](BufferId id) {
        if (TaskGraph::index(id) >= graph().buffers().size()) stranger = id;
      };
      for_each_read(task(t), look);
      if (const auto written = written_buffer(task(t))) look(*written);
      if (stranger) {
        return wrong(t, "no buffer b" + to_string(TaskGraph::index(*stranger)) + "; the graph has " +
                            to_string(graph().buffers().size()));
      }
    }
    return Status::ok();
  }

  Status slice_is(std::size_t t, BufferId id, const Slice& expected) const {
    if (buffer(id).slice == expected) return Status::ok();
    return wrong(t, "buffer b" + to_string(TaskGraph::index(id)) + " holds elements " + text_of(buffer(id).slice) +
                        ", not " + text_of(expected));
  }

  Status slices_agree() const {
    for (std::size_t b = 0; b < graph().buffers().size(); ++b) {
      const Slice& slice = graph().buffers()[b].slice;
      if (slice.first <= elements_ && slice.count <= elements_ - slice.first) continue;
      return internal_error("buffer " + to_string(b) + ": elements " + text_of(slice) + " of a gradient of " +
                            to_string(elements_));
    }
    for (std::size_t t = 0; t < size(); ++t) {
      if (const auto* encode = std::get_if<Encode>(&task(t))) {
        CASYNC_RETURN_IF_ERROR(slice_is(t, encode->to, encode->from));
      } else if (const auto* decode = std::get_if<Decode>(&task(t))) {
        CASYNC_RETURN_IF_ERROR(slice_is(t, decode->from, decode->to));
      } else if (const auto* merge = std::get_if<Merge>(&task(t))) {
        CASYNC_RETURN_IF_ERROR(slice_is(t, merge->to, merge->local));
        if (merge->local.count == 0) continue;
        for (const std::optional<BufferId>& part : merge->contributions) {
          if (part) CASYNC_RETURN_IF_ERROR(slice_is(t, *part, merge->local));
        }
      }
    }
    return Status::ok();
  }

  Status buffers_are_written_once() const {
    std::vector<int> writers(graph().buffers().size());
    for (std::size_t t = 0; t < size(); ++t) {
      const auto written = written_buffer(task(t));
      if (written && ++writers[TaskGraph::index(*written)] > 1) return wrong(t, "another task writes that buffer too");
    }
    for (std::size_t t = 0; t < size(); ++t) {
      std::optional<BufferId> unwritten;
      for_each_read(task(t), [&](BufferId id) {
        if (writers[TaskGraph::index(id)] == 0) unwritten = id;
      });
      if (unwritten) return wrong(t, "no task writes buffer b" + to_string(TaskGraph::index(*unwritten)));
    }
    return Status::ok();
  }

  Status messages_have_names() const {
    std::set<std::tuple<bool, Rank, MessageId>> named;
    for (std::size_t t = 0; t < size(); ++t) {
      const auto* send = std::get_if<Send>(&task(t));
      const auto* recv = std::get_if<Recv>(&task(t));
      if (!send && !recv) continue;
      const Rank peer = send ? send->to : recv->from;
      if (peer < 0 || peer >= ranks_) return wrong(t, "the group has ranks 0 to " + to_string(ranks_ - 1));
      if (peer == self_) return wrong(t, "that is this rank itself");
      const BufferId id = send ? send->from : recv->to;
      if ((send ? send->id : recv->id).partition != buffer(id).partition) {
        return wrong(t, "the buffer is of partition " + to_string(buffer(id).partition));
      }
      if (!named.insert({send != nullptr, peer, send ? send->id : recv->id}).second) {
        return wrong(t, "another message with that rank has the same name");
      }
    }
    return Status::ok();
  }

  Status merges_count_once() const {
    for (std::size_t t = 0; t < size(); ++t) {
      const auto* merge = std::get_if<Merge>(&task(t));
      if (!merge) continue;
      if (merge->contributions.empty()) return wrong(t, "nothing to merge");
      const std::set<std::optional<BufferId>> distinct(merge->contributions.begin(), merge->contributions.end());
      if (distinct.size() < merge->contributions.size()) return wrong(t, "a contribution is listed twice");
      std::set<Hop> hops;
      for_each_read(task(t), [&](BufferId id) { hops.insert(buffer(id).hop); });
      hops.erase(Hop::kSum);  // is floats, as this rank's own elements are
      if (hops.size() > 1) return wrong(t, "the codes are of different hops");
    }
    return Status::ok();
  }

  Status sums_stay_here() const {
    for (std::size_t t = 0; t < size(); ++t) {
      const auto* send = std::get_if<Send>(&task(t));
      const auto* recv = std::get_if<Recv>(&task(t));
      if (!send && !recv) continue;
      if (buffer(send ? send->from : recv->to).hop == Hop::kSum) return wrong(t, "a sum does not travel");
    }
    return Status::ok();
  }

  Status order_has_no_circle() const {
    std::vector<int> waits(size());
    std::vector<TaskId> ready;
    for (std::size_t t = 0; t < size(); ++t) {
      waits[t] = graph().predecessors(TaskId(t));
      if (waits[t] == 0) ready.push_back(TaskId(t));
    }
    for (std::size_t done = 0; done < ready.size(); ++done) {
      for (TaskId next : graph().successors(ready[done])) {
        if (--waits[TaskGraph::index(next)] == 0) ready.push_back(next);
      }
    }
    if (ready.size() == size()) return Status::ok();
    const auto stuck = std::find_if(waits.begin(), waits.end(), [](int n) { return n > 0; }) - waits.begin();
    return wrong(static_cast<std::size_t>(stuck), "waits in a circle for itself");
  }

  Elements elements_;
  int ranks_;
  Rank self_;
};

/// The gradient's elements, in a graph that StructureInspection has found right: each is encoded and decoded once, and
/// read ahead of its change.
class ElementInspection : Inspection {
 public:
  ElementInspection(const TaskGraph& graph, Elements elements, const Slice& decoded)
      : Inspection(graph), elements_(elements), decoded_(decoded) {}

  Status run() const {
    CASYNC_RETURN_IF_ERROR(are_encoded_once());
    CASYNC_RETURN_IF_ERROR(are_decoded_once());
    return are_read_before_they_change();
  }

 private:
  // A contribution is encoded once, and a sum once more: the codec keeps the residual of each in one place.
  Status are_encoded_once() const {
    std::vector<std::pair<Slice, std::size_t>> encoded, merged;
    for (std::size_t t = 0; t < size(); ++t) {
      const auto to = written_buffer(task(t));
      if (!to || (buffer(*to).hop != Hop::kFirst && buffer(*to).hop != Hop::kSecond)) continue;
      if (std::holds_alternative<Encode>(task(t))) encoded.emplace_back(buffer(*to).slice, t);
      if (std::holds_alternative<Merge>(task(t))) merged.emplace_back(buffer(*to).slice, t);
    }
    CASYNC_RETURN_IF_ERROR(are_apart(encoded, "encodes"));
    return are_apart(merged, "merges");
  }

  Status are_apart(std::vector<std::pair<Slice, std::size_t>>& slices, const char* verb) const {
    sort_by_position(slices);
    for (std::size_t i = 1; i < slices.size(); ++i) {
      if (!overlap(slices[i - 1].first, slices[i].first)) continue;
      return wrong(slices[i].second,
                   "task " + to_string(slices[i - 1].second) + " " + verb + " some of these elements too");
    }
    return Status::ok();
  }

  Status are_decoded_once() const {
    std::vector<std::pair<Slice, std::size_t>> decoded;
    for (std::size_t t = 0; t < size(); ++t) {
      const auto* decode = std::get_if<Decode>(&task(t));
      if (decode && decode->to.count > 0) decoded.emplace_back(decode->to, t);
    }
    sort_by_position(decoded);
    Elements covered = decoded_.first;
    const Elements end = decoded_.first + decoded_.count;
    for (const auto& [slice, t] : decoded) {
      if (slice.first < decoded_.first || slice.first + slice.count > end) {
        return wrong(t, "this rank gets the result of elements " + text_of(decoded_) + " alone");
      }
    }
    for (const auto& [slice, t] : decoded) {
      if (slice.first < covered) return wrong(t, "another task decodes some of these elements too");
      if (slice.first > covered) break;
      covered += slice.count;
    }
    if (covered == end) return Status::ok();
    return internal_error("no task decodes element " + to_string(covered) + " of " + to_string(elements_));
  }

  // The elements that a task changes in place, if any.
  std::optional<Slice> changed_by(std::size_t t) const {
    if (const auto* decode = std::get_if<Decode>(&task(t))) return decode->to;
    const auto* merge = std::get_if<Merge>(&task(t));
    if (merge && (buffer(merge->to).hop == Hop::kSum || buffer(merge->to).hop == Hop::kRaw)) return merge->local;
    return std::nullopt;
  }

  // Returns true if task `reader` sends the buffer that task `t` writes: it reads the elements as they are then.
  bool sends_what(std::size_t t, std::size_t reader) const {
    const auto* send = std::get_if<Send>(&task(reader));
    return send && written_buffer(task(t)) == std::optional(send->from);
  }

  // Every reader of elements must have been waited for ahead of their change, by this rank's own edges and not because
  // another rank's messages happen to imply the order.
  Status are_read_before_they_change() const {
    std::vector<std::vector<std::size_t>> before(size());
    for (std::size_t t = 0; t < size(); ++t) {
      for (TaskId next : graph().successors(TaskId(t))) before[TaskGraph::index(next)].push_back(t);
    }
    const auto readers = readers_by_position();
    for (std::size_t t = 0; t < size(); ++t) {
      const std::optional<Slice> changed = changed_by(t);
      if (!changed) continue;
      const std::set<std::size_t> waited_for = all_before(t, before);
      for (const auto& [slice, reader] : readers) {
        if (slice.first >= changed->first + changed->count) break;
        if (reader == t || !overlap(slice, *changed) || waited_for.contains(reader)) continue;
        if (sends_what(t, reader)) continue;
        return wrong(t, "does not wait for task " + to_string(reader) + " to read these elements");
      }
    }
    return Status::ok();
  }

  // Includes sends of what was made from the elements: the code of an identity codec lies in the gradient's own memory.
  std::vector<std::pair<Slice, std::size_t>> readers_by_position() const {
    std::vector<std::pair<Slice, std::size_t>> readers;
    for (std::size_t t = 0; t < size(); ++t) {
      if (const auto slice = gradient_read(task(t))) readers.emplace_back(*slice, t);
      const auto* send = std::get_if<Send>(&task(t));
      if (send && buffer(send->from).hop != Hop::kSecond) readers.emplace_back(buffer(send->from).slice, t);
    }
    sort_by_position(readers);
    return readers;
  }

  Elements elements_;
  Slice decoded_;
};

}  // namespace

Status TaskGraph::validate(Elements elements, int ranks, Rank self, const Slice& decoded) const {
  CASYNC_RETURN_IF_ERROR(StructureInspection(*this, elements, ranks, self).run());
  return ElementInspection(*this, elements, decoded).run();
}

}  // namespace casync
