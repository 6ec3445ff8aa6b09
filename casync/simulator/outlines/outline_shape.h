// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/simulator/outline.h"

namespace casync {

/// The part of an owner's work that is beyond the mean, if it does something for `share` partitions.
double rest_of(double share);

/// The ranks that exchange a gradient, and the partitions, rounds and lumps that they exchange it in.
struct OutlineShape {
  OutlineShape(const Decision& decision, Elements elements, const AlikeRanks& alike);

  double rest() const { return rest_of(share); }

  int ranks, nodes;
  int each;                                    ///< ranks of a node
  int owners;                                  ///< ranks that own partitions
  int contributors;                            ///< ranks that contribute elements
  double tree_crossing, double_tree_crossing;  ///< as AlikeRanks
  Elements slice = 0;                          ///< elements of a partition
  double rounds = 1;
  double of_round = 1;  ///< partitions in a round
  double share = 1;     ///< of these, as many as an owner owns
  int written = 1;      ///< rounds that the outline has: one may stand for several
  int lumps = 1;        ///< of each of them
};

}  // namespace casync
