// SPDX-License-Identifier: Apache-2.0
//
// Memory of the emulated driver: who has which bytes is known, so that a copy which leaves an allocation is an error.
#pragma once

#include <cstddef>
#include <optional>

#include "compll/cuda/driver_api.h"

namespace casync::compll::emulated {

/// kOutOfMemory: there are not so many bytes left (set_device_memory).
DriverApi::Code take_device_memory(DriverApi::Memory* memory, std::size_t bytes, int device);
DriverApi::Code give_back_device_memory(DriverApi::Memory memory);
DriverApi::Code take_pinned(void** memory, std::size_t bytes);
DriverApi::Code give_back_pinned(void* memory);

/// The device in whose memory all of these bytes are.
std::optional<int> device_of(DriverApi::Memory at, std::size_t bytes);
bool is_pinned(const void* at, std::size_t bytes);
/// Returns true if kernels of the device can use all of these bytes: its own, or pinned.
bool is_reached(const void* at, std::size_t bytes, int device);

}  // namespace casync::compll::emulated
