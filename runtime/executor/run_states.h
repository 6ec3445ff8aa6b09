// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

// A run's state is what its codecs keep, and then what its owner's side has. Between steps.

/// Allocates memory for it, and memory that only turns need. Unavailable: no memory.
Status allocate_kept(GradientRun& run, Device& device);
/// The same for several, with one block for all small ones: a page of its own for each would leave most sets of a cache
/// unused, and thousands of pages to translate.
Status allocate_kept(std::span<const std::unique_ptr<GradientRun>> runs, Device& device);

/// Gives it the values that it has ahead of the first step. Unavailable: as Device::write.
Status reset_kept(GradientRun& run, Device& device);

/// The floats of it.
Elements state_floats(const GradientRun& run);
/// Copies all of them, as the last committed step left them. Unavailable: as Device::read and Device::write.
Status read_kept(const GradientRun& run, Device& device, std::vector<float>* kept);
Status write_kept(GradientRun& run, Device& device, std::span<const float> kept);

}  // namespace casync::runtime
