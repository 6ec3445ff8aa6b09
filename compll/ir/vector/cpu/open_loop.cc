// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/open_loop.h"

#include <algorithm>
#include <utility>

namespace casync::compll::cpu_vector {

std::size_t OpenLoop::level(Id array) const {
  const auto found = level_.find(array);
  return found == level_.end() ? 0 : found->second;
}

void OpenLoop::set_level(Id array, std::size_t level) {
  if (level != 0) level_[array] = level;
}

void OpenLoop::join(ElementWork work, std::size_t phase) {
  loop_.phases = std::max(loop_.phases, phase + 1);
  loop_.works.push_back({phase, std::move(work)});
}

void OpenLoop::add_last(ElementWork work, Id array) {
  loop_.phases = std::max(loop_.phases, level(array) + 1);
  last_.push_back({0, std::move(work)});
}

void OpenLoop::add_of_blocks(Id to, BlockWork work, std::size_t level, const Constant& block) {
  loop_.phases = std::max(loop_.phases, level + 1);
  loop_.works.push_back({level, std::move(work)});
  if (std::find(loop_.blocks.begin(), loop_.blocks.end(), block) == loop_.blocks.end()) loop_.blocks.push_back(block);
  set_level(to, level + 1);
}

void OpenLoop::add_behind(Call call, std::optional<VariableId> id) {
  behind_.push_back(std::move(call));
  if (id) awaited_.insert(*id);
}

/// The last phase that goes through elements computes for long: there a tile fetches what the next one reads.
void OpenLoop::plan_fetches() {
  std::size_t last = 0;
  for (const Work& work : loop_.works) {
    if (std::holds_alternative<ElementWork>(work.what)) last = std::max(last, work.phase);
  }
  if (last == 0) return;
  loop_.fetches_in = last;
  loop_.fetched = memories_;
}

void OpenLoop::close() {
  if (loop_.phases == 0) return;
  for (Work& work : last_) {
    work.phase = loop_.phases - 1;
    loop_.works.push_back(std::move(work));
  }
  plan_fetches();
  const int next = loop_.number + 1;
  plan_.add(std::move(loop_));
  for (Call& call : behind_) plan_.add(std::move(call));
  loop_ = {next, 0, {}, {}, 0, {}};
  last_.clear();
  behind_.clear();
  awaited_.clear();
  level_.clear();
  keeps_any_ = false;
}

}  // namespace casync::compll::cpu_vector
