// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "compll/cuda/driver_api.h"

namespace casync::compll::emulated {

enum class Order;  // launch.h

/// CUDA's driver with devices that are this host. A module has all kernels that this program was linked with, or those
/// of set_functions (functions.h), by their names, whatever its machine code says. Streams are threads (streams.h).
/// Stricter than the true one: work on the default stream, a copy beyond an allocation and an event of another device
/// are errors, a call that may wait, or takes a context or gives it back, ends the capture of any stream, memory is
/// gone once it is given back, and a kernel whose arguments lead to other memory faults.
const DriverApi& driver();

/// The next call of a function that launches or copies fails, as after an illegal access of a kernel: later ones,
/// too. Nothing that was queued runs any more.
void break_device();
/// The same, as soon as so many more kernels have run: the next one faults where it runs, not where it is launched.
void break_after_kernels(int kernels);
/// It is well again.
void mend_device();
/// Sets the number of devices that the driver shows.
void set_device_count(int count);
/// Sets the version of CUDA that the driver knows, 1000 * major + 10 * minor. At first: 13000.
void set_cuda_version(int version);
/// Sets the number of a device's multiprocessors, each of which runs one block of threads. At first: 3.
void set_processors(int count);
/// Sets the order of threads and blocks of later kernels. At first: forward.
void set_order(Order order);
/// Sets the bytes of device memory that are left; more is "out of memory".
void set_device_memory(std::size_t bytes);

/// Copies to the host of exactly so many bytes take so long; 0: none do.
void slow_down_copies(std::size_t bytes, int milliseconds);

/// Calls of a function since the process began, by the name that the driver exports it by;
/// "pageable copy": copies from or to host memory that is not pinned, for which a true driver waits.
std::uint64_t calls(std::string_view function);

}  // namespace casync::compll::emulated
