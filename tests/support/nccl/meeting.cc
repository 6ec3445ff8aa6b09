// SPDX-License-Identifier: Apache-2.0
#include "tests/support/nccl/meeting.h"

#include <algorithm>
#include <cstring>

#include "runtime/collective/nccl/nccl_api.h"

namespace casync::test::fake_nccl {
namespace {

using runtime::NcclApi;

// So many elements are summed from the same rank on: as in a ring, no rank's contribution is always the first.
constexpr std::size_t kChunk = 64;

bool all_done(std::span<const Operation> group) {
  return std::all_of(group.begin(), group.end(), [](const Operation& one) { return one.done; });
}

bool alike(const Operation& a, const Operation& b) {
  return a.count == b.count && a.type == b.type && a.reduction == b.reduction;
}

template <class T, class Join>
void reduce(std::span<Operation* const> all, Join join) {
  std::vector<T> result(all[0]->count);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t first = i / kChunk + 1;
    const auto value = [&](std::size_t k) { return static_cast<const T*>(all[(first + k) % all.size()]->from)[i]; };
    result[i] = value(0);
    for (std::size_t k = 1; k < all.size(); ++k) result[i] = join(result[i], value(k));
  }
  for (Operation* one : all) std::memcpy(one->to, result.data(), result.size() * sizeof(T));
}

template <class T>
void reduce(std::span<Operation* const> all) {
  if (all[0]->reduction == NcclApi::kSum) {
    reduce<T>(all, [](T a, T b) { return static_cast<T>(a + b); });
  } else {
    reduce<T>(all, [](T a, T b) { return std::max(a, b); });
  }
}

}  // namespace

std::size_t Operation::bytes() const { return type == NcclApi::kFloat32 ? count * sizeof(float) : count; }

void Meeting::run(int rank, std::span<Operation> group, std::unique_lock<std::mutex>& lock,
                  std::condition_variable& changed, const bool& aborted) {
  for (Operation& one : group) bring(rank, one);
  for (auto& [ends, line] : lines_) match(line);
  match_reductions();
  changed.notify_all();
  changed.wait(lock, [&] { return aborted || all_done(group); });
  for (Operation& one : group) {
    if (!one.done) take_back(rank, one);
  }
}

void Meeting::bring(int rank, Operation& one) {
  switch (one.kind) {
    case Operation::Kind::kSend: lines_[{rank, one.peer}].sends.push_back(&one); break;
    case Operation::Kind::kRecv: lines_[{one.peer, rank}].recvs.push_back(&one); break;
    case Operation::Kind::kAllReduce: reductions_[static_cast<std::size_t>(rank)].push_back(&one); break;
  }
}

void Meeting::take_back(int rank, Operation& one) {
  for (auto& [ends, line] : lines_) {
    std::erase(line.sends, &one);
    std::erase(line.recvs, &one);
  }
  std::erase(reductions_[static_cast<std::size_t>(rank)], &one);
}

/// A message of two sizes never arrives, and nothing after it.
void Meeting::match(Line& line) {
  while (!line.sends.empty() && !line.recvs.empty()) {
    Operation &send = *line.sends.front(), &recv = *line.recvs.front();
    if (send.bytes() != recv.bytes()) return;
    std::memcpy(recv.to, send.from, send.bytes());
    send.done = recv.done = true;
    line.sends.pop_front();
    line.recvs.pop_front();
  }
}

void Meeting::match_reductions() {
  const auto is_empty = [](const auto& one) { return one.empty(); };
  while (std::none_of(reductions_.begin(), reductions_.end(), is_empty)) {
    std::vector<Operation*> all;
    for (const auto& one : reductions_) all.push_back(one.front());
    if (!std::all_of(all.begin(), all.end(), [&](const Operation* one) { return alike(*one, *all[0]); })) return;
    if (all[0]->type == NcclApi::kFloat32) {
      reduce<float>(all);
    } else {
      reduce<unsigned char>(all);
    }
    for (Operation* one : all) one->done = true;
    for (auto& one : reductions_) one.pop_front();
  }
}

}  // namespace casync::test::fake_nccl
