// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "compll/ops/cuda/launch.h"
#include "tests/compll/cuda/emulated/launch.h"
#include "tests/compll/cuda/support/codecs.h"

namespace casync::compll::emulated {
namespace {

using Code = DriverApi::Code;
using Handle = DriverApi::Handle;
using Memory = DriverApi::Memory;

constexpr Code kNoDevice = 100, kNotFound = 500, kIllegalAccess = 700;

/// A kernel, or the one that tells sizes.
struct Function {
  cuda::Kernel kernel = nullptr;
  cuda::SizesKernel sizes = nullptr;
};

std::map<std::string, Function> all_functions() {
  std::map<std::string, Function> all;
  const auto add = [&](const std::string& codec, const std::string& name, cuda::Kernel kernel) {
    if (kernel != nullptr) all["casync_" + codec + "_" + name] = {kernel, nullptr};
  };
  for (const cuda::Kernels* each : test::kernels_of_codecs()) {
    add(each->name, "encode", each->encode);
    add(each->name, "merge", each->merge);
    add(each->name, "decode", each->decode);
    add(each->name, "result", each->result);
    add(each->name, "encode_statistics", each->encode_statistics);
    add(each->name, "merge_statistics", each->merge_statistics);
  }
  for (const cuda::WholeKernels* each : test::kernels_of_whole_codecs()) {
    add(each->name, "encode", each->encode.kernel);
    add(each->name, "merge", each->merge.kernel);
    add(each->name, "decode", each->decode.kernel);
    add(each->name, "result", each->result.kernel);
    all["casync_" + std::string(each->name) + "_sizes"].sizes = each->sizes;
  }
  for (const cuda::RoundsKernels* each : test::kernels_of_rounds()) {
    for (std::uint32_t turn = 0; turn <= each->rounds; ++turn) {
      add(each->name, "turn_" + std::to_string(turn), each->turns[turn].kernel);
    }
    all["casync_" + std::string(each->name) + "_sizes"].sizes = each->sizes;
  }
  return all;
}

int devices = 1;
bool is_broken = false;

Code state() { return is_broken ? kIllegalAccess : 0; }

template <class T>
T* pointer(Memory memory) {
  return reinterpret_cast<T*>(memory);
}

Code error_text(Code error, const char** text) {
  *text = error == kNoDevice        ? "no CUDA-capable device is detected"
          : error == kNotFound      ? "named symbol not found"
          : error == kIllegalAccess ? "an illegal memory access was encountered"
                                    : "unknown error";
  return 0;
}
Code init(unsigned) { return devices == 0 ? kNoDevice : 0; }
Code device_count(int* count) { return *count = devices, 0; }
Code device(DriverApi::DeviceId* id, int) { return *id = 0, 0; }
Code device_name(char* name, int size, DriverApi::DeviceId) {
  std::snprintf(name, static_cast<std::size_t>(size), "this host");
  return 0;
}
Code device_attribute(int* value, int attribute, DriverApi::DeviceId) {
  *value = attribute == DriverApi::kMajor ? 9 : attribute == DriverApi::kMinor ? 0 : 3;
  return 0;
}
Code retain_context(Handle* context, DriverApi::DeviceId) { return *context = &devices, 0; }
Code release_context(DriverApi::DeviceId) { return 0; }
Code use_context(Handle) { return 0; }
Code wait_for_all() { return state(); }

Code load_module(Handle* module, const void*) {
  static std::map<std::string, Function> all = all_functions();
  *module = &all;
  return 0;
}
Code function(Handle* function, Handle module, const char* name) {
  auto& all = *static_cast<std::map<std::string, Function>*>(module);
  const auto found = all.find(name);
  if (found == all.end()) return kNotFound;
  *function = &found->second;
  return 0;
}
Code set_function_attribute(Handle, int, int) { return 0; }
Code blocks_at_once(int* blocks, Handle, int, std::size_t) { return *blocks = 1, 0; }
Code launch_kernel(Handle function, unsigned grid, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned shared_bytes, Handle, void** arguments, void**) {
  if (is_broken) return kIllegalAccess;
  const auto& called = *static_cast<Function*>(function);
  if (called.sizes != nullptr) {
    called.sizes(*static_cast<cuda::Sizes**>(arguments[0]), *static_cast<cuda::Matrix*>(arguments[1]),
                 *static_cast<cuda::Settings*>(arguments[2]));
  } else {
    launch(called.kernel, {grid, threads, shared_bytes}, *static_cast<cuda::Launch*>(arguments[0]), Order::kForward);
  }
  return 0;
}

Code allocate(Memory* memory, std::size_t bytes) {
  void* const made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *memory = reinterpret_cast<Memory>(made);
  return made == nullptr ? 2 : state();
}
Code free_memory(Memory memory) {
  std::free(pointer<void>(memory));
  return 0;
}
Code upload(Memory to, const void* from, std::size_t bytes) {
  if (!is_broken) std::memcpy(pointer<void>(to), from, bytes);
  return state();
}
Code download(void* to, Memory from, std::size_t bytes) {
  if (!is_broken) std::memcpy(to, pointer<void>(from), bytes);
  return state();
}
Code copy(Memory to, Memory from, std::size_t bytes, Handle) { return upload(to, pointer<void>(from), bytes); }
Code fill(Memory at, unsigned char value, std::size_t bytes) {
  if (!is_broken) std::memset(pointer<void>(at), value, bytes);
  return state();
}

Code make_event(Handle* event, unsigned) { return *event = &devices, 0; }
Code end_event(Handle) { return 0; }
Code record_event(Handle, Handle) { return state(); }
Code wait_for_event(Handle) { return state(); }
Code milliseconds_between(float* milliseconds, Handle, Handle) { return *milliseconds = 1, state(); }

}  // namespace

const DriverApi& driver() {
  static const DriverApi api = {.init = init,
                                .error_text = error_text,
                                .device_count = device_count,
                                .device = device,
                                .device_name = device_name,
                                .device_attribute = device_attribute,
                                .retain_context = retain_context,
                                .release_context = release_context,
                                .use_context = use_context,
                                .wait_for_all = wait_for_all,
                                .load_module = load_module,
                                .function = function,
                                .set_function_attribute = set_function_attribute,
                                .blocks_at_once = blocks_at_once,
                                .launch = launch_kernel,
                                .allocate = allocate,
                                .free = free_memory,
                                .upload = upload,
                                .download = download,
                                .copy = copy,
                                .fill = fill,
                                .make_event = make_event,
                                .end_event = end_event,
                                .record_event = record_event,
                                .wait_for_event = wait_for_event,
                                .milliseconds_between = milliseconds_between};
  return api;
}

void break_device() { is_broken = true; }
void mend_device() { is_broken = false; }
void set_device_count(int count) { devices = count; }

}  // namespace casync::compll::emulated
