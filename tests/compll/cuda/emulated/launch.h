// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "compll/ops/cuda/launch.h"

namespace casync::compll::emulated {

/// In which order threads and blocks get their turn: what a kernel computes may not depend on it. In a random order
/// some threads and blocks are ahead of others by far, and threads also wait ahead of atomic operations and fences.
enum class Order { kForward, kBackward, kRandom };

/// Begins the choices of a random order: the same launches then run in the same order. Called while nothing runs.
void seed_random_order(std::uint64_t seed);

/// Runs a kernel on the host, several blocks of threads by turns. Aborts with the reason where threads of a warp wait
/// for each other in different places, or all for something that does not come.
void launch(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch, Order order);
/// The same of a kernel with other arguments.
void launch(const std::function<void()>& kernel, const cuda::Grid& grid, Order order);

}  // namespace casync::compll::emulated
