// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync::compll {

/// The instruction sets that this machine has and the kernels were compiled for, the plain one included.
std::vector<std::string> instruction_sets();

/// While it lives, the kernels use this instruction set. Not for tests with several threads.
class UseInstructionSet {
 public:
  explicit UseInstructionSet(const std::string& name);
  ~UseInstructionSet();
  UseInstructionSet(const UseInstructionSet&) = delete;
  UseInstructionSet& operator=(const UseInstructionSet&) = delete;
};

}  // namespace casync::compll
