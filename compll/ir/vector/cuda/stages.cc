// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/stages.h"

#include <algorithm>

#include "compll/ir/vector/cuda/tasks.h"

namespace casync::compll::cuda_vector {
namespace {

class Joining {
 public:
  explicit Joining(Routine& plan) : plan_(plan) {}

  void run() {
    join<ChooseDigit>();
    join<CountDigit>();
    join<PickLargest>();
  }

 private:
  /// Gives each task of this kind to the first search that does the same.
  template <class Kind>
  void join() {
    std::vector<Task>& tasks = plan_.tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Kind* work = work_of<Kind>(tasks[i]);
      if (work == nullptr) continue;
      const Task* first = first_like<Kind>(tasks[i]);
      if (first == &tasks[i]) continue;
      std::vector<SearchId>& all = std::get<Kind>(tasks[static_cast<std::size_t>(first - tasks.data())].work).searches;
      all.insert(all.end(), work->searches.begin(), work->searches.end());
      std::sort(all.begin(), all.end());
      tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  }

  /// The task of the first search that does the same in its stage; the task itself if there is no other.
  template <class Kind>
  const Task* first_like(const Task& task) const {
    const Kind& work = std::get<Kind>(task.work);
    const Task* first = &task;
    for (const Task& each : plan_.tasks) {
      const Kind* other = std::get_if<Kind>(&each.work);
      if (other == nullptr || each.stage != task.stage || !does_same(*other, work)) continue;
      if (other->searches.front() < std::get<Kind>(first->work).searches.front()) first = &each;
    }
    return first;
  }

  bool does_same(const ChooseDigit& a, const ChooseDigit& b) const {
    if (a.digit != b.digit || a.digit > 0) return a.digit == b.digit;
    // Only searches for places know ahead of them, and from a size, the number that is wanted.
    const Search &one = search(a.searches), &other = search(b.searches);
    return one.places && other.places && result_of(one) == result_of(other);
  }
  bool does_same(const CountDigit& a, const CountDigit& b) const {
    return a.digit == b.digit && operand_of(search(a.searches)) == operand_of(search(b.searches));
  }
  bool does_same(const PickLargest& a, const PickLargest& b) const {
    const Search &one = search(a.searches), &other = search(b.searches);
    return operand_of(one) == operand_of(other) && result_of(one) == result_of(other);
  }

  const Search& search(const std::vector<SearchId>& ids) const { return plan_.searches[ids.front()]; }
  static const std::optional<Extent>& operand_of(const Search& search) {
    return search.term->arguments[0]->type().extent;
  }
  static const std::optional<Extent>& result_of(const Search& search) { return search.term->type().extent; }

  Routine& plan_;
};

}  // namespace

void join_searches(Routine& plan) { Joining(plan).run(); }

void divide_stages(Routine& plan) {
  for (std::uint32_t number = 0; number < stages_of(plan); ++number) {
    Stage stage;
    std::vector<const Task*> tasks;
    for (const Task& task : plan.tasks) {
      if (task.stage != number) continue;
      if (!task.at_end) tasks.push_back(&task);
      if (task.at_end) stage.at_end.push_back(task.work);
    }
    const auto at_once = std::find_if(tasks.begin(), tasks.end(), [](const Task* each) { return each->piece == 0; });
    const bool in_pieces = at_once - tasks.begin() > 1 && plan.role != Role::kTurn;
    for (auto each = tasks.begin(); each != tasks.end(); ++each) {
      const bool by_pieces = in_pieces && each < at_once;
      (by_pieces ? stage.by_pieces : stage.at_once).push_back((*each)->work);
      if (by_pieces) stage.piece = std::max(stage.piece, (*each)->piece);
    }
    plan.stages.push_back(std::move(stage));
  }
}

}  // namespace casync::compll::cuda_vector
