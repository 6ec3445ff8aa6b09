// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "base/units.h"

/// A balanced binary tree over any number of ranks, numbered in order: a
/// subtree is a run of numbers with its root in between. All leaves have even
/// numbers and all inner nodes odd ones. So of two trees whose numbers differ
/// by one, a rank has children in one at most (Sanders, Speck, Traeff 2009,
/// "Two-tree algorithms for full bandwidth broadcast, reduction and scan").
/// Places are counted from the root, which has place 0, each before its
/// subtree.
namespace casync::binary_tree {

/// Number of nodes on the left of a subtree's root: odd, so that the root's
/// number is, and nearest to half of the rest.
constexpr int left_size(int size) {
  const int half = (size - 1) / 2;
  return size < 2 ? 0 : half % 2 == 1 ? half : half + 1;
}
constexpr int right_size(int size) { return size - 1 - left_size(size); }

struct Node {
  int first = 0;    ///< number of the first node of its subtree
  int size = 1;     ///< of its subtree
  int place = 0;    ///< its own; those of its subtree follow without a gap
  int depth = 0;    ///< of the root: 0
  int parent = -1;  ///< a place

  constexpr int number() const { return first + left_size(size); }
  constexpr int children() const { return (left_size(size) > 0 ? 1 : 0) + (right_size(size) > 0 ? 1 : 0); }
};

constexpr Node right(const Node& of) {
  return {of.number() + 1, right_size(of.size), of.place + 1, of.depth + 1, of.place};
}
constexpr Node left(const Node& of) {
  return {of.first, left_size(of.size), of.place + 1 + right_size(of.size), of.depth + 1, of.place};
}

constexpr Node with_number(int number, int ranks) {
  Node node{.size = ranks};
  while (node.number() != number) node = number < node.number() ? left(node) : right(node);
  return node;
}
constexpr Node with_place(int place, int ranks) {
  Node node{.size = ranks};
  while (node.place != place) node = place > node.place + right_size(node.size) ? left(node) : right(node);
  return node;
}

/// The deepest node's depth.
constexpr int height(int ranks) { return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1; }

constexpr int sum_of_depths(int ranks) {
  if (ranks < 2) return 0;
  return ranks - 1 + sum_of_depths(left_size(ranks)) + sum_of_depths(right_size(ranks));
}
/// Mean number of messages, one after the other, from a rank to the root.
constexpr double mean_depth(int ranks) { return static_cast<double>(sum_of_depths(ranks)) / ranks; }

/// The number of a rank in the tree with that root, and back.
constexpr int number_of(Rank rank, Rank root, int ranks) { return (rank - root + left_size(ranks) + ranks) % ranks; }
constexpr Rank rank_of(int number, Rank root, int ranks) { return (number + root - left_size(ranks) + ranks) % ranks; }

}  // namespace casync::binary_tree
