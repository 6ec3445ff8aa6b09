// SPDX-License-Identifier: Apache-2.0
//
// The function that libFuzzer calls with every text it thinks of. tools/fuzz builds and runs it.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/run_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  casync::compll::run_program({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
