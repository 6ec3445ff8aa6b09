// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace casync::compll {

/// The functions of CUDA's driver that this library calls. The build needs no CUDA toolkit: handles are pointers,
/// devices and error codes are ints, and addresses of device memory are 64-bit numbers. driver.cc has the names under
/// which the driver's library exports them. Every copy and launch names its stream: nothing runs on the default stream,
/// which would wait for streams of others.
struct DriverApi {
  using Code = int;  ///< 0: success
  using DeviceId = int;
  using Handle = void*;  ///< a context, a module, a function, a stream or an event
  using Memory = std::uint64_t;
  using HostFunction = void (*)(void* user);

  Code (*init)(unsigned flags) = nullptr;
  Code (*version)(int* version) = nullptr;  ///< of CUDA that the driver knows: 1000 * major + 10 * minor
  Code (*error_text)(Code error, const char** text) = nullptr;
  Code (*device_count)(int* count) = nullptr;
  Code (*device)(DeviceId* device, int index) = nullptr;
  Code (*device_name)(char* name, int size, DeviceId device) = nullptr;
  Code (*device_attribute)(int* value, int attribute, DeviceId device) = nullptr;
  Code (*retain_context)(Handle* context, DeviceId device) = nullptr;
  Code (*release_context)(DeviceId device) = nullptr;
  Code (*push_context)(Handle context) = nullptr;  ///< makes it the calling thread's, until pop_context
  Code (*pop_context)(Handle* context) = nullptr;
  Code (*exchange_capture_mode)(int* mode) = nullptr;  ///< of the calling thread; `mode` becomes the one that it had

  Code (*load_module)(Handle* module, const void* image) = nullptr;
  Code (*unload_module)(Handle module) = nullptr;
  Code (*function)(Handle* function, Handle module, const char* name) = nullptr;
  Code (*set_function_attribute)(Handle function, int attribute, int value) = nullptr;
  Code (*blocks_at_once)(int* blocks, Handle function, int threads, std::size_t shared_bytes) = nullptr;
  Code (*launch)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                 unsigned block_z, unsigned shared_bytes, Handle stream, void** arguments, void** extra) = nullptr;

  Code (*allocate)(Memory* memory, std::size_t bytes) = nullptr;
  Code (*free)(Memory memory) = nullptr;
  Code (*allocate_pinned)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
  Code (*free_pinned)(void* memory) = nullptr;
  Code (*pointer_attribute)(void* value, int attribute, Memory pointer) = nullptr;
  Code (*upload)(Memory to, const void* from, std::size_t bytes, Handle stream) = nullptr;
  Code (*download)(void* to, Memory from, std::size_t bytes, Handle stream) = nullptr;
  Code (*copy)(Memory to, Memory from, std::size_t bytes, Handle stream) = nullptr;
  Code (*fill)(Memory at, unsigned char value, std::size_t bytes, Handle stream) = nullptr;

  Code (*stream_priorities)(int* least, int* greatest) = nullptr;  ///< greatest is the smaller number
  Code (*make_stream)(Handle* stream, unsigned flags, int priority) = nullptr;
  Code (*end_stream)(Handle stream) = nullptr;
  Code (*wait_for_stream)(Handle stream) = nullptr;
  Code (*wait_in_stream)(Handle stream, Handle event, unsigned flags) = nullptr;
  Code (*is_capturing)(Handle stream, int* status) = nullptr;
  Code (*call_host)(Handle stream, HostFunction function, void* user) = nullptr;  ///< which may not call the driver

  Code (*make_event)(Handle* event, unsigned flags) = nullptr;
  Code (*end_event)(Handle event) = nullptr;
  Code (*record_event)(Handle event, Handle stream) = nullptr;
  Code (*query_event)(Handle event) = nullptr;  ///< kNotReady while what is ahead of the event is under way
  Code (*milliseconds_between)(float* milliseconds, Handle begin, Handle end) = nullptr;

  // Attributes of a device, and the attribute of a function that allows it more than 48 KiB of shared memory.
  static constexpr int kProcessors = 16, kMajor = 75, kMinor = 76, kMostShared = 8;
  static constexpr int kPciBus = 33, kPciDevice = 34, kPciDomain = 50;
  static constexpr unsigned kNonBlocking = 1;    ///< of a stream: it does not wait for the default stream
  static constexpr unsigned kWithoutTiming = 2;  ///< of an event
  static constexpr unsigned kPortable = 1;       ///< of pinned memory: it is so for every context
  // Attributes of a pointer: the kind of its memory, and the device that has it.
  static constexpr int kMemoryKind = 2, kOrdinal = 9, kHostMemory = 1, kDeviceMemory = 2;
  // A thread's mode in which its calls end no capture of a stream into a graph, and the status of a stream that is not
  // captured.
  static constexpr int kRelaxedCapture = 2, kCaptureNone = 0;
  static constexpr Code kInvalidValue = 1, kOutOfMemory = 2, kNotReady = 600, kCaptureImplicit = 906;
  // An error of the hardware; errors of a kernel, from an illegal address to a failure without a name.
  static constexpr Code kContained = 226;
  static constexpr Code kIllegalAddress = 700, kLaunchTimeout = 702, kAssert = 710, kStackError = 714,
                        kLaunchFailed = 719;

  /// Returns true if the driver answers each later call of the process with this error.
  static constexpr bool lasts(Code code) {
    return code == kContained || code == kIllegalAddress || code == kLaunchTimeout || code == kAssert ||
           (code >= kStackError && code <= kLaunchFailed);
  }
};

}  // namespace casync::compll
