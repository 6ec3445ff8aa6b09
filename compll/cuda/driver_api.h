// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace casync::compll {

/// The functions of CUDA's driver that this library calls. The build needs no CUDA toolkit: handles are pointers,
/// devices and error codes are ints, and addresses of device memory are 64-bit numbers. driver.cc has the names under
/// which the driver's library exports them.
struct DriverApi {
  using Code = int;  ///< 0: success
  using DeviceId = int;
  using Handle = void*;  ///< a context, a module, a function, a stream or an event
  using Memory = std::uint64_t;

  Code (*init)(unsigned flags) = nullptr;
  Code (*error_text)(Code error, const char** text) = nullptr;
  Code (*device_count)(int* count) = nullptr;
  Code (*device)(DeviceId* device, int index) = nullptr;
  Code (*device_name)(char* name, int size, DeviceId device) = nullptr;
  Code (*device_attribute)(int* value, int attribute, DeviceId device) = nullptr;
  Code (*retain_context)(Handle* context, DeviceId device) = nullptr;
  Code (*release_context)(DeviceId device) = nullptr;
  Code (*use_context)(Handle context) = nullptr;
  Code (*wait_for_all)() = nullptr;

  Code (*load_module)(Handle* module, const void* image) = nullptr;
  Code (*function)(Handle* function, Handle module, const char* name) = nullptr;
  Code (*set_function_attribute)(Handle function, int attribute, int value) = nullptr;
  Code (*blocks_at_once)(int* blocks, Handle function, int threads, std::size_t shared_bytes) = nullptr;
  Code (*launch)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                 unsigned block_z, unsigned shared_bytes, Handle stream, void** arguments, void** extra) = nullptr;

  Code (*allocate)(Memory* memory, std::size_t bytes) = nullptr;
  Code (*free)(Memory memory) = nullptr;
  Code (*upload)(Memory to, const void* from, std::size_t bytes) = nullptr;
  Code (*download)(void* to, Memory from, std::size_t bytes) = nullptr;
  Code (*copy)(Memory to, Memory from, std::size_t bytes, Handle stream) = nullptr;
  Code (*fill)(Memory at, unsigned char value, std::size_t bytes) = nullptr;

  Code (*make_event)(Handle* event, unsigned flags) = nullptr;
  Code (*end_event)(Handle event) = nullptr;
  Code (*record_event)(Handle event, Handle stream) = nullptr;
  Code (*wait_for_event)(Handle event) = nullptr;
  Code (*milliseconds_between)(float* milliseconds, Handle begin, Handle end) = nullptr;

  // Attributes of a device, and the attribute of a function that allows it more than 48 KiB of shared memory.
  static constexpr int kProcessors = 16, kMajor = 75, kMinor = 76, kMostShared = 8;
};

}  // namespace casync::compll
