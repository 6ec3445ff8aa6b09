// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace casync::compll {

/// The instruction sets that this machine has and the library's kernels are compiled for, the plain one included.
std::vector<std::string> instruction_sets();

/// The same for the codec of this name. Test programs are compiled for further ones, as codec files are.
std::vector<std::string> instruction_sets(std::string_view codec);

/// While it lives, the kernels use this instruction set. Not for tests with several threads.
class UseInstructionSet {
 public:
  explicit UseInstructionSet(const std::string& name);
  ~UseInstructionSet();
  UseInstructionSet(const UseInstructionSet&) = delete;
  UseInstructionSet& operator=(const UseInstructionSet&) = delete;
};

}  // namespace casync::compll
