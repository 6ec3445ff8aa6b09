// SPDX-License-Identifier: Apache-2.0
//
// Reductions as operations of MXNet's engine: it starts one when the gradient has been written, goes on with whatever
// else is ready, and learns from a thread of the session when it is done. None holds Python's lock.
//
// A `gate` array orders steps. Reductions read it and the end of a step writes it, so the engine runs the end after the
// reductions of its step, and the reductions of the next step after that.
//
// MXNet's objects are used through its C functions only: the wheel was compiled with another std::string.
#include <mxnet/c_api.h>
#include <mxnet/engine.h>

#include <cstdint>
#include <memory>
#include <string>

#include "plugins/native/flights.h"

// void mxnet::NDArray::Reorder2DefaultAsync() const, of libraries with oneDNN. An array may be laid out in oneDNN's own
// way; MXNDArrayGetData() would then wait for the engine, inside an operation that the engine waits for.
extern "C" void casync_plugin_reorder(const void* array) __asm__("_ZNK5mxnet7NDArray20Reorder2DefaultAsyncEv")
    __attribute__((weak));

namespace casync::mxnet_plugin {
namespace {

using mxnet::engine::CallbackOnComplete;
using native::Flights;
using native::Outcome;

/// Tells the engine; it keeps an error for those who wait for the operation's arrays, who then get an MXNetError.
void complete(const CallbackOnComplete& callback, const Outcome& outcome, const std::string& what) {
  if (outcome.ok()) return callback();
  const dmlc::Error error("casync: " + what + ": " + outcome.message);
  callback(&error);
}

const Outcome kClosed = {CASYNC_ABORTED, "its session is closed"};

/// A gradient's reduction, from pushpull() until the engine has let go of it.
struct Reduction {
  ~Reduction() { MXNDArrayFree(array); }

  int session = 0;
  std::uint32_t gradient = 0;
  std::string name;
  NDArrayHandle array = nullptr;  ///< shares the gradient's memory
  std::size_t bytes = 0;
};

Outcome address_of(NDArrayHandle array, void** data) {
  if (MXNDArrayGetData(array, data) == 0) return {};
  return {CASYNC_INTERNAL, MXGetLastError()};
}

void reduce(void*, void* on_complete, void* param) {
  const CallbackOnComplete callback = *static_cast<CallbackOnComplete*>(on_complete);
  const Reduction& reduction = *static_cast<Reduction*>(param);
  const std::string name = reduction.name;
  const std::shared_ptr<Flights> flights = native::find(reduction.session);
  void* data = nullptr;
  Outcome outcome = flights ? address_of(reduction.array, &data) : kClosed;
  if (outcome.ok()) {
    outcome = flights->submit(reduction.gradient, data, reduction.bytes,
                              [callback, name](const Outcome& done) { complete(callback, done, name); });
  }
  if (!outcome.ok()) complete(callback, outcome, name);
}

/// The end of a step.
struct StepEnd {
  int session = 0;
  std::int32_t* finite = nullptr;  ///< the answer, for those who have waited for the gate
};

void end_step(void*, void* on_complete, void* param) {
  const CallbackOnComplete callback = *static_cast<CallbackOnComplete*>(on_complete);
  const StepEnd& end = *static_cast<StepEnd*>(param);
  const std::shared_ptr<Flights> flights = native::find(end.session);
  bool finite = false;
  std::string first_non_finite;
  const Outcome outcome = flights ? flights->step(&finite, &first_non_finite) : kClosed;
  *end.finite = finite ? 1 : 0;
  complete(callback, outcome, "the end of a step");
}

template <typename T>
void destroy(void* param) {
  delete static_cast<T*>(param);
}

// Both kinds of operation run on the processor, whatever arrays they use.
mxnet::Context processor() { return mxnet::Context::CPU(); }

}  // namespace
}  // namespace casync::mxnet_plugin

// Python calls these through ctypes. 0, or -1 and MXGetLastError().
extern "C" {
#pragma GCC visibility push(default)
/// Reduces `bytes` bytes of `array` in place once the engine has written them.
int casync_plugin_mxnet_reduce(int session, std::uint32_t gradient, const char* name, NDArrayHandle array,
                               std::size_t bytes, NDArrayHandle gate, int priority) {
  using casync::mxnet_plugin::Reduction;
  auto reduction = std::make_unique<Reduction>();
  reduction->session = session;
  reduction->gradient = gradient;
  reduction->name = name;
  reduction->bytes = bytes;
  if (MXShallowCopyNDArray(array, &reduction->array) != 0) return -1;
  if (casync_plugin_reorder != nullptr) casync_plugin_reorder(array);
  mxnet::Context context = casync::mxnet_plugin::processor();
  return MXEnginePushAsyncND(casync::mxnet_plugin::reduce, reduction.release(),
                             casync::mxnet_plugin::destroy<Reduction>, &context, &gate, 1, &array, 1, nullptr, priority,
                             name, false);
}

/// Ends the step of the reductions that were pushed so far. `finite` stays valid until `gate` has been waited for.
int casync_plugin_mxnet_end_step(int session, NDArrayHandle gate, std::int32_t* finite, int priority) {
  using casync::mxnet_plugin::StepEnd;
  mxnet::Context context = casync::mxnet_plugin::processor();
  return MXEnginePushAsyncND(casync::mxnet_plugin::end_step, new StepEnd{session, finite},
                             casync::mxnet_plugin::destroy<StepEnd>, &context, nullptr, 0, &gate, 1, nullptr, priority,
                             "casync_end_step", false);
}
#pragma GCC visibility pop
}
