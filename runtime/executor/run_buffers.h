// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "casync/graph/task_graph.h"
#include "runtime/executor/hop_codecs.h"

namespace casync::runtime {

class Bundle;

/// The payloads of a run: what is fixed of each, its memory, and what the step under way has put there.
///
/// Threads: the progress thread's. Tasks on other threads touch the payloads of their own buffers, and take_unchecked()
/// of these.
class RunBuffers {
 public:
  /// An encoded partition in this step.
  struct State {
    View memory;      ///< empty until the first task that needs it
    Bytes bytes = 0;  ///< of the payload in it
    int uses_left = 0;
    bool from_arena = false;
    bool unchecked = false;  ///< came from another rank and no codec has looked at it yet
    bool finite = true;
  };

  /// Borrows all. `bundle`: null, or the one whose payloads these are, of so many elements.
  RunBuffers(const TaskGraph& graph, const HopCodecs& codecs, const Bundle* bundle, Elements bundled);
  RunBuffers(const RunBuffers&) = delete;
  RunBuffers& operator=(const RunBuffers&) = delete;

  // Fixed once built.
  std::size_t count() const { return states_.size(); }
  const Buffer& of(BufferId buffer) const { return graph_.buffers()[TaskGraph::index(buffer)]; }
  /// Elements in a buffer, and bytes that hold any encoding of them.
  Elements elements_in(BufferId buffer) const { return bundle_ != nullptr ? bundled_ : of(buffer).slice.count; }
  Bytes bound_of(BufferId buffer) const;
  /// Lets payloads lie in the memory of a gradient of float32 elements where they are the same: an identity codec's,
  /// but those that arrive to be merged, where this rank's own elements are.
  void lie_in_gradient();
  /// Lets none lie there: the gradient is in a device's memory.
  void leave_gradient() { lies_in_gradient_.assign(count(), false); }
  bool is_in_gradient(BufferId buffer) const { return lies_in_gradient_[TaskGraph::index(buffer)]; }
  /// Another run, never under way together with this one, has reserved the arena's slots, or its messages lie
  /// elsewhere.
  void borrow_slots(bool borrows = true) { borrows_slots_ = borrows; }
  bool borrows_slots() const { return borrows_slots_; }

  /// A step begins: nothing is in any of them.
  void begin();
  const State& state(BufferId buffer) const { return states_[TaskGraph::index(buffer)]; }
  /// Gives memory to a buffer that has none.
  void place(BufferId buffer, View memory, bool from_arena) {
    at(buffer).memory = memory;
    at(buffer).from_arena = from_arena;
  }
  /// A payload of so many bytes is coming.
  void expect(BufferId buffer, Bytes bytes) { at(buffer).bytes = bytes; }
  /// It has come. `unchecked`: a codec has to look at it.
  void receive(BufferId buffer, bool finite, bool unchecked) {
    at(buffer).finite = finite;
    at(buffer).unchecked = unchecked;
  }
  /// A task has made a payload.
  void make(BufferId buffer, Bytes bytes, bool finite) {
    at(buffer).bytes = bytes;
    at(buffer).finite = finite;
  }
  /// Returns true, once, if a codec has to look at what came from another rank.
  bool take_unchecked(BufferId buffer) { return std::exchange(at(buffer).unchecked, false); }
  /// A task that reads or writes it is done. Returns memory that nobody needs any more and the arena gets back, or
  /// none.
  View release(BufferId buffer);
  /// Forgets it. Returns its memory if that is the arena's.
  View take(BufferId buffer);

 private:
  State& at(BufferId buffer) { return states_[TaskGraph::index(buffer)]; }

  const TaskGraph& graph_;
  const HopCodecs& codecs_;
  const Bundle* const bundle_;
  const Elements bundled_;
  std::vector<State> states_;
  std::vector<bool> lies_in_gradient_;
  bool borrows_slots_ = false;
};

}  // namespace casync::runtime
