// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_whole {

struct Staging;

/// Operators that find elements. A search for the largest takes three stages, one for each digit of the key; then the
/// least of them is known, and a fourth stage writes places.
class Selection {
 public:
  explicit Selection(Staging& staging) : staging_(staging) {}

  Id plan_largest(const Term& term, const std::string& name);
  void plan_kth_largest(const Term& term);
  Id plan_where(const Term& term, const std::string& name);

 private:
  /// A search, and the first stage after it.
  struct Planned {
    SearchId search = 0;
    std::uint32_t found = 0;
  };
  Planned plan_search(const Term& term, const std::string& name);

  Staging& staging_;
};

}  // namespace casync::compll::cuda_whole
