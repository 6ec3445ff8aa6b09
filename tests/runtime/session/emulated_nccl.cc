// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/session/nccl_cases.h"
#include "tests/support/nccl/fake_nccl.h"

namespace casync::test::nccl {

void use_nccl() { fake_nccl::use(gpu_driver()); }

}  // namespace casync::test::nccl
