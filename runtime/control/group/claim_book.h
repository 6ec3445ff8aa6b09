// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"

namespace casync::runtime {

/// A claim as rank 0 sees it: the name, and the digest of the facts.
struct ClaimDigest {
  std::string name;
  std::string digest;
};

/// Names that all ranks have claimed with the same facts.
struct Agreement {
  std::vector<std::string> names;  ///< sorted
  /// Every rank claimed exactly these names together, and has agreed in turn so far. Only then the composition of the
  /// list does not depend on the order in which ranks were heard.
  bool in_turn = true;
};

/// Two ranks that cannot agree about a name.
struct Dispute {
  std::string name;
  Rank one = 0;
  Rank other = 0;
  bool other_has_nothing = false;  ///< `other` has not claimed the name and never will
};

/// The claims of all ranks. Ranks claim in any order and any grouping; a name is agreed once all have claimed it.
/// Plain data, kept by rank 0.
class ClaimBook {
 public:
  explicit ClaimBook(int ranks);

  struct Outcome {
    std::vector<Agreement> agreements;
    std::optional<Dispute> dispute;  ///< the first by name
    bool repeated = false;           ///< the rank has claimed one of the names earlier: nothing was entered
  };
  Outcome claim(Rank rank, std::vector<ClaimDigest> claims);

  /// A rank waits for `name`. False: it is agreed, or a rank waited for it earlier.
  bool need(const std::string& name);
  /// The ranks that have not claimed `name`; none if it is agreed, or nobody has claimed it.
  std::vector<Rank> missing(const std::string& name) const;
  /// The dispute that arises when `rank` never claims `name`; nullopt when it has, or nobody has.
  std::optional<Dispute> refused_by(Rank rank, const std::string& name) const;
  /// A name that somebody needs and `rank` has not claimed, "" when there is none.
  std::string needed_from(Rank rank) const;

 private:
  struct Entry {
    std::string digest;
    Rank first = 0;
    std::string history;       ///< of the first rank: the digest of all its claims so far
    bool same_history = true;  ///< all ranks that claimed it had that history
    bool needed = false;
    int count = 0;
    std::vector<bool> here;  ///< by rank
  };

  int ranks() const { return static_cast<int>(histories_.size()); }
  bool is_repeated(Rank rank, const std::vector<ClaimDigest>& claims) const;
  void extend_history(Rank rank, const std::vector<ClaimDigest>& claims);
  /// Enters one claim; false when its digest differs from the first rank's.
  bool enter(Rank rank, const ClaimDigest& claim);

  std::vector<std::string> histories_;  ///< by rank
  std::map<std::string, Entry> open_;
  std::set<std::string> agreed_;
};

}  // namespace casync::runtime
