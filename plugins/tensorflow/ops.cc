// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's operations on a session. Each is asynchronous: it returns at once, and a thread of the session's ends
// it, so as many are under way as have become ready. None holds Python's lock.
//
// An operation names its session by the number that attach() gave, and its gradient by the id that declare() gave.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "plugins/native/flights.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace casync::tensorflow_plugin {
namespace {

using native::Flights;
using native::Outcome;
using tensorflow::AsyncOpKernel;
using tensorflow::CancellationManager;
using tensorflow::CancellationToken;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::tstring;

absl::StatusCode code_of(casync_status status) {
  switch (status) {
    case CASYNC_OK: return absl::StatusCode::kOk;
    case CASYNC_INVALID_ARGUMENT:
    case CASYNC_PLAN_ERROR:
    case CASYNC_COMPILE_ERROR: return absl::StatusCode::kInvalidArgument;
    case CASYNC_PEER_FAILURE:
    case CASYNC_UNAVAILABLE: return absl::StatusCode::kUnavailable;
    case CASYNC_TIMEOUT: return absl::StatusCode::kDeadlineExceeded;
    case CASYNC_DATA_LOSS: return absl::StatusCode::kDataLoss;
    case CASYNC_ABORTED: return absl::StatusCode::kAborted;
    case CASYNC_UNIMPLEMENTED: return absl::StatusCode::kUnimplemented;
    case CASYNC_INTERNAL: break;
  }
  return absl::StatusCode::kInternal;
}

absl::Status status_of(const Outcome& outcome, const std::string& what) {
  if (outcome.ok()) return absl::OkStatus();
  return absl::Status(code_of(outcome.status), "casync: " + what + ": " + outcome.message);
}

absl::Status closed(const std::string& what) {
  return absl::AbortedError("casync: " + what +
                            ": its session is closed: call casync.tensorflow.init() again, and trace "
                            "the tf.function again");
}

/// Reduces a tensor in place: when another operation of the same run fails, ends the job, so that no rank waits.
class ReduceInPlace {
 public:
  ReduceInPlace(OpKernelConstruction* construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("session", &session_));
    OP_REQUIRES_OK(construction, construction->GetAttr("gradient", &gradient_));
    OP_REQUIRES_OK(construction, construction->GetAttr("tensor_name", &name_));
  }

  const std::string& name() const { return name_; }
  std::shared_ptr<Flights> flights() const { return native::find(session_); }

  /// `end` runs exactly once, with the outcome. `data` stays where it is until then.
  void start(OpKernelContext* context, void* data, std::size_t bytes, std::function<void(absl::Status)> end) const {
    const std::shared_ptr<Flights> flights = this->flights();
    if (!flights) return end(closed(name_));
    CancellationManager* const manager = context->cancellation_manager();
    CancellationToken token = CancellationManager::kInvalidToken;
    if (manager != nullptr) {
      token = manager->get_cancellation_token();
      const bool registered = manager->RegisterCallback(token, [flights, name = name_] {
        flights->abort("a step was given up while gradient " + name + " was under way: another operation failed");
      });
      if (!registered) return end(absl::CancelledError("casync: " + name_ + ": this run was cancelled"));
    }
    const Outcome started = flights->submit(static_cast<std::uint32_t>(gradient_), data, bytes,
                                            [manager, token, end, name = name_](const Outcome& outcome) {
                                              if (manager != nullptr) manager->TryDeregisterCallback(token);
                                              end(status_of(outcome, name));
                                            });
    if (started.ok()) return;
    if (manager != nullptr) manager->TryDeregisterCallback(token);
    end(status_of(started, name_));
  }

 private:
  int session_ = 0;
  int gradient_ = 0;
  std::string name_;
};

/// gradient[...] -> the same, reduced over the ranks.
class AllReduceOp : public AsyncOpKernel {
 public:
  explicit AllReduceOp(OpKernelConstruction* construction) : AsyncOpKernel(construction), reduce_(construction) {}

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    const Tensor& gradient = context->input(0);
    Tensor* reduced = nullptr;
    OP_REQUIRES_OK_ASYNC(context, context->forward_input_or_allocate_output({0}, 0, gradient.shape(), &reduced), done);
    if (reduced->data() != gradient.data()) std::memcpy(reduced->data(), gradient.data(), gradient.TotalBytes());
    reduce_.start(context, reduced->data(), reduced->TotalBytes(), [context, done](const absl::Status& status) {
      context->SetStatus(status);
      done();
    });
  }

 private:
  ReduceInPlace reduce_;
};

/// value[...] -> rank `root`'s value, bit for bit. Its session sums without a codec: each 16 bits of the root's value
/// travel as a float32, which holds them exactly, and the other ranks add zeros.
class BroadcastOp : public AsyncOpKernel {
 public:
  explicit BroadcastOp(OpKernelConstruction* construction) : AsyncOpKernel(construction), reduce_(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("is_root", &is_root_));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    const Tensor value = context->input(0);
    Tensor* received = nullptr;
    OP_REQUIRES_OK_ASYNC(context, context->forward_input_or_allocate_output({0}, 0, value.shape(), &received), done);
    const std::size_t bytes = value.TotalBytes();
    const auto words = std::make_shared<std::vector<float>>((bytes + 1) / 2);
    if (is_root_) split(static_cast<const unsigned char*>(value.data()), bytes, words->data());
    reduce_.start(context, words->data(), words->size() * sizeof(float),
                  [context, done, words, bytes, received](const absl::Status& status) {
                    if (status.ok()) join(words->data(), bytes, static_cast<unsigned char*>(received->data()));
                    context->SetStatus(status);
                    done();
                  });
  }

 private:
  static void split(const unsigned char* bytes, std::size_t count, float* words) {
    for (std::size_t i = 0; i < count; i += 2) words[i / 2] = bytes[i] | (i + 1 < count ? bytes[i + 1] << 8 : 0);
  }
  static void join(const float* words, std::size_t count, unsigned char* bytes) {
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned>(words[i / 2]) >> (i % 2 * 8) & 0xff;
  }

  ReduceInPlace reduce_;
  bool is_root_ = false;
};

/// Gives the token that the reductions of a step take. It makes them depend on something that is not constant, and
/// TensorFlow keeps it in order with the ends of steps.
class BeginStepOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    Tensor* token = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &token));
    token->scalar<bool>()() = true;
  }
};

/// Ends the session's step. Takes what was reduced, and so runs when all of it is done: a reduction with no other use
/// is not left out, because other ranks may wait for it.
class EndStepOp : public OpKernel {
 public:
  explicit EndStepOp(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("session", &session_));
  }

  void Compute(OpKernelContext* context) override {
    const std::shared_ptr<Flights> flights = native::find(session_);
    OP_REQUIRES(context, flights, closed("the end of a step"));
    Tensor *finite = nullptr, *name = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &finite));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({}), &name));
    std::string first_non_finite;
    const Outcome outcome = flights->step(&finite->scalar<bool>()(), &first_non_finite);
    OP_REQUIRES_OK(context, status_of(outcome, "the end of a step"));
    name->scalar<tstring>()() = first_non_finite;
  }

 private:
  int session_ = 0;
};

// The begin and the end of a step are stateful: tf.function runs such operations in the order of the program, and
// always. Reductions are not, because it would run them one after another. Their token keeps them from being computed
// in advance, and the end of their step from being left out.
REGISTER_OP("CasyncBeginStep")
    .Attr("session: int")
    .Output("token: bool")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::ScalarShape);

REGISTER_OP("CasyncAllReduce")
    .Attr("T: {float32, float16, bfloat16}")
    .Attr("session: int")
    .Attr("gradient: int")
    .Attr("tensor_name: string")
    .Input("value: T")
    .Input("token: bool")
    .Output("reduced: T")
    .SetIsDistributedCommunication()
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

REGISTER_OP("CasyncBroadcast")
    .Attr(
        "T: {bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32, float64, "
        "complex64, complex128}")
    .Attr("session: int")
    .Attr("gradient: int")
    .Attr("tensor_name: string")
    .Attr("is_root: bool")
    .Input("value: T")
    .Input("token: bool")
    .Output("received: T")
    .SetIsDistributedCommunication()
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

REGISTER_OP("CasyncEndStep")
    .Attr("T: list(type) >= 0")
    .Attr("session: int")
    .Input("reduced: T")
    .Output("finite: bool")
    .Output("first_non_finite: string")
    .SetIsStateful()
    .SetIsDistributedCommunication()
    .SetShapeFn(tensorflow::shape_inference::ScalarShape);

REGISTER_KERNEL_BUILDER(Name("CasyncBeginStep").Device(tensorflow::DEVICE_CPU), BeginStepOp);
REGISTER_KERNEL_BUILDER(Name("CasyncAllReduce").Device(tensorflow::DEVICE_CPU), AllReduceOp);
REGISTER_KERNEL_BUILDER(Name("CasyncBroadcast").Device(tensorflow::DEVICE_CPU), BroadcastOp);
REGISTER_KERNEL_BUILDER(Name("CasyncEndStep").Device(tensorflow::DEVICE_CPU), EndStepOp);

}  // namespace
}  // namespace casync::tensorflow_plugin
