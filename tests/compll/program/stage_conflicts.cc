// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/program/stage_conflicts.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "tests/compll/program/work_accesses.h"

namespace casync::compll::cuda_vector {
namespace {

/// A work with its place in the launch.
struct Done {
  std::size_t stage = 0, number = 0;
  bool at_end = false, changes = false;
  std::vector<Access> accesses = {};

  std::string text() const { return "stage " + std::to_string(stage) + ", work " + std::to_string(number); }
  /// Returns true if tiles wait for each other between this work and a later one.
  bool is_over(const Done& later) const { return stage < later.stage || (stage == later.stage && later.at_end); }
};

class Conflicts {
 public:
  explicit Conflicts(const Routine& plan) : plan_(plan) {
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
      number_ = 0;
      take(stage, plan.stages[stage].by_pieces, false);
      take(stage, plan.stages[stage].at_once, false);
      take(stage, plan.stages[stage].at_end, true);
    }
  }

  std::vector<std::string> run() {
    for (std::size_t later = 0; later < all_.size(); ++later) {
      for (std::size_t earlier = 0; earlier <= later; ++earlier) check_shares(earlier, later);
      for (const Access& access : all_[later].accesses) {
        if (!access.writes) check_read(later, access);
      }
    }
    return std::move(found_);
  }

 private:
  void take(std::size_t stage, const std::vector<Work>& works, bool at_end) {
    for (const Work& work : works) {
      all_.push_back({stage, number_++, at_end, is_change_in_place(work), accesses_of(plan_, work)});
    }
  }
  /// Returns true for work that changes an array which earlier works have read.
  bool is_change_in_place(const Work& work) const {
    if (std::holds_alternative<SubtractDecoded>(work)) return true;
    const auto* change = std::get_if<Change>(&work);
    return change != nullptr && std::any_of(plan_.changed.begin(), plan_.changed.end(), [&](const compll::Step* step) {
             return step->value.get() == change->term;
           });
  }

  /// Works of one stage that access the same memory, and do not only read it, have the same share of it.
  void check_shares(std::size_t earlier, std::size_t later) {
    const Done &one = all_[earlier], &other = all_[later];
    if (earlier != later && one.is_over(other)) return;
    for (const Access& a : one.accesses) {
      for (const Access& b : other.accesses) {
        if (a.memory != b.memory || (!a.writes && !b.writes) || a.is_of_one_tile(b)) continue;
        if (earlier == later && (a.updates || b.updates || a.writes == b.writes)) continue;
        return say(one.text() + " and " + other.text() + ": other shares of " + text_of(plan_, a.memory));
      }
    }
  }

  /// Says where a work reads memory that nothing has written, or that another work has changed already.
  void check_read(std::size_t reading, const Access& read) {
    const std::string begin = all_[reading].text() + ": reads " + text_of(plan_, read.memory);
    bool is_written = false;
    for (std::size_t writing = 0; writing < all_.size(); ++writing) {
      const Done& work = all_[writing];
      const bool writes = std::any_of(work.accesses.begin(), work.accesses.end(),
                                      [&](const Access& each) { return each.writes && each.memory == read.memory; });
      if (!writes) continue;
      if (work.changes && writing < reading) return say(begin + " after it is changed");
      const bool is_given = read.memory.base == Address::Base::kGiven;  // the result may overwrite it
      if (!work.changes && !is_given && writing > reading) return say(begin + " ahead of " + work.text());
      is_written = true;
    }
    const Address::Base base = read.memory.base;
    const bool is_made_here = base == Address::Base::kWorkspace || base == Address::Base::kStateOut ||
                              (base == Address::Base::kInput && plan_.role == Role::kEncode);
    if (is_made_here && !is_written) say(begin + ", which nothing writes");
  }

  void say(std::string text) {
    if (std::find(found_.begin(), found_.end(), text) == found_.end()) found_.push_back(std::move(text));
  }

  const Routine& plan_;
  std::size_t number_ = 0;
  std::vector<Done> all_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> stage_conflicts(const Routine& routine) { return Conflicts(routine).run(); }

}  // namespace casync::compll::cuda_vector
