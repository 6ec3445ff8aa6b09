// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/session/exchange_model.h"

#include <algorithm>
#include <utility>

namespace casync::test {
namespace {

Vector plus(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

}  // namespace

// The sum of one partition over each strategy, and what each rank encodes on the way.
struct ExchangeModel::Sums {
  static Vector ps(ExchangeModel& model, int owner) {
    Vector sum(model.elements_ / model.partitions_, 0.0);
    for (int rank = 0; rank < model.ranks_; ++rank) {
      if (!model.contributes(rank)) continue;
      sum = plus(std::move(sum),
                 rank == owner ? model.own(rank) : model.told("rank " + std::to_string(rank), model.own(rank)));
    }
    return sum;
  }

  // Starting at the rank after the owner, each adds its own elements to what arrives, and encodes the sum.
  static Vector ring(ExchangeModel& model, int owner) {
    Vector so_far(model.elements_ / model.partitions_, 0.0);
    for (int k = 1; k < model.ranks_; ++k) {
      const int rank = (owner + k) % model.ranks_;
      so_far = model.told("rank " + std::to_string(rank), plus(so_far, model.own(rank)));
    }
    return plus(so_far, model.own(owner));
  }

  static Vector all_gather(ExchangeModel& model, int) { return model.sum_of_codes("rank "); }

  static Vector tree(ExchangeModel& model, int owner) { return subtree(model, owner, 0); }

  static Vector hierarchical(ExchangeModel& model, int) { return nodes(model, false); }
  static Vector hierarchical_all_gather(ExchangeModel& model, int) { return nodes(model, true); }

  static Vector double_tree(ExchangeModel& model, int) {
    return numbers(model, static_cast<int>(model.partition_ % 2) % model.ranks_, 0, model.ranks_);
  }

 private:
  // The sum at `place` after all places that hang from it have sent.
  static Vector subtree(ExchangeModel& model, int root, int place) {
    Vector sum = model.own((root + place) % model.ranks_);
    for (int bit = 1; place + bit < model.ranks_ && (place & bit) == 0; bit *= 2) {
      const int child = place + bit, rank = (root + child) % model.ranks_;
      sum = plus(std::move(sum), model.told("rank " + std::to_string(rank), subtree(model, root, child)));
    }
    return sum;
  }

  // The middle one of `count` numbers: odd, so that all leaves are even.
  static int middle(int count) {
    const int half = (count - 1) / 2;
    return count < 2 ? 0 : half + 1 - half % 2;
  }

  // Numbers go around the ranks, the root's in the middle of all. The sum at the middle of `count` numbers from `first`
  // on, after the middles of both its sides have sent.
  static Vector numbers(ExchangeModel& model, int root, int first, int count) {
    const int ranks = model.ranks_;
    const auto rank = [&](int begin, int size) {
      return (begin + middle(size) - middle(ranks) + root + ranks) % ranks;
    };
    Vector sum = model.own(rank(first, count));
    const int left = middle(count), right = count - 1 - left;
    for (const auto& [begin, size] : {std::pair(first + left + 1, right), std::pair(first, left)}) {
      if (size == 0) continue;
      Vector half = numbers(model, root, begin, size);
      sum = plus(std::move(sum), model.told("rank " + std::to_string(rank(begin, size)), std::move(half)));
    }
    return sum;
  }

  // The nodes' sums are encoded, but for that of the owner's node, if there is an owner.
  static Vector nodes(ExchangeModel& model, bool gathered) {
    std::size_t largest = 1;
    for (const std::vector<int>& node : model.nodes_) largest = std::max(largest, node.size());
    const std::size_t partition = model.partition_;
    const std::size_t owning = (partition % largest + partition / largest) % model.nodes_.size();
    Vector sum(model.elements_ / model.partitions_, 0.0);
    for (std::size_t node = 0; node < model.nodes_.size(); ++node) {
      Vector whole(sum.size(), 0.0);
      for (const int rank : model.nodes_[node]) whole = plus(std::move(whole), model.own(rank));
      sum =
          plus(std::move(sum), node == owning && !gathered ? whole : model.told("node " + std::to_string(node), whole));
    }
    return sum;
  }
};

ExchangeModel::ExchangeModel(const ToldCodec& codec, std::string strategy, std::string node_of, int ranks,
                             std::size_t elements, std::size_t partitions)
    : codec_(codec), strategy_(std::move(strategy)), ranks_(ranks), elements_(elements), partitions_(partitions) {
  if (node_of.empty()) node_of.assign(static_cast<std::size_t>(ranks), 'a');
  std::string names;
  for (int rank = 0; rank < ranks; ++rank) {
    const char name = node_of[static_cast<std::size_t>(rank)];
    if (names.find(name) == std::string::npos) names += name, nodes_.emplace_back();
    nodes_[names.find(name)].push_back(rank);
  }
  const std::string word = " servers: ";
  if (const std::size_t at = strategy_.find(word); at != std::string::npos) {
    choose_servers(std::stoi(strategy_.substr(at + word.size())));
    dedicated_ = strategy_.ends_with("dedicated: true");
    strategy_.resize(at);
  }
#define CASYNC_STRATEGY(kind, word, ...) \
  if (strategy_ == #word) sum_ = &Sums::word;
#include "casync/model/strategies.def"
}

// The last node gives its last rank, then the previous node, and so on around.
void ExchangeModel::choose_servers(int count) {
  std::vector<std::vector<int>> left = nodes_;
  for (std::size_t turn = 0; servers_.size() < static_cast<std::size_t>(count); ++turn) {
    std::vector<int>& node = left[left.size() - 1 - turn % left.size()];
    if (node.empty()) continue;
    servers_.push_back(node.back());
    node.pop_back();
  }
  std::sort(servers_.begin(), servers_.end());
}

bool ExchangeModel::contributes(int rank) const {
  return !dedicated_ || std::find(servers_.begin(), servers_.end(), rank) == servers_.end();
}

Vector ExchangeModel::told(const std::string& who, Vector x) {
  if (!codec_.feedback) return codec_.told(x);
  Vector& left = left_[who + " " + std::to_string(partition_)];
  left.resize(x.size(), 0.0);
  x = plus(std::move(x), left);
  const Vector arrived = codec_.told(x);
  for (std::size_t i = 0; i < x.size(); ++i) left[i] = x[i] - arrived[i];
  return arrived;
}

Vector ExchangeModel::own(int rank) const {
  const std::size_t size = elements_ / partitions_;
  const auto first = (*gradients_)[static_cast<std::size_t>(rank)].begin() + static_cast<long>(partition_ * size);
  return {first, first + static_cast<long>(size)};
}

Vector ExchangeModel::sum_of_codes(const std::string& role) {
  Vector sum(elements_ / partitions_, 0.0);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (contributes(rank)) sum = plus(std::move(sum), told(role + std::to_string(rank), own(rank)));
  }
  return sum;
}

Vector ExchangeModel::result_of(int owner) {
  // The mean is taken in float32: a third of a sum of codes may lie on the edge between two codes.
  const float share = 1.0F / static_cast<float>(ranks_ - (dedicated_ ? static_cast<int>(servers_.size()) : 0));
  Vector sum = codec_.votes ? sum_of_codes("rank ") : sum_(*this, owner);
  for (double& each : sum) each = static_cast<float>(each) * share;
  return strategy_.ends_with("all_gather") && !codec_.votes ? sum : told("owner", sum);
}

Vector ExchangeModel::step(const std::vector<Vector>& gradients) {
  gradients_ = &gradients;
  Vector result;
  for (partition_ = 0; partition_ < partitions_; ++partition_) {
    const int owner = servers_.empty() ? static_cast<int>(partition_) % ranks_ : servers_[partition_ % servers_.size()];
    const Vector part = result_of(owner);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

}  // namespace casync::test
