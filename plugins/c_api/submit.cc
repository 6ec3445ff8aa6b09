// SPDX-License-Identifier: Apache-2.0
//
// Submissions with everything that a framework knows: device, stream, readiness, completion.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "plugins/c_api/session_handle.h"

using namespace casync;         // NOLINT: this file is the seam
using namespace casync::c_api;  // NOLINT

namespace {

// The fields that the first version of the struct had; later ones are zero for callers that do not know them.
constexpr std::size_t kFirstSubmissionSize = offsetof(casync_submission, user) + sizeof(void*);
constexpr std::size_t kMostSize = 64 * 1024;  // one beyond it was never set, and leads behind the array

runtime::Submission submission_of(const casync_submission& one) {
  const auto id = runtime::GradientId(one.gradient);
  if (one.device == CASYNC_CPU) return {id, {static_cast<std::byte*>(one.data), one.bytes}};
  return {id, {}, runtime::DeviceView::of(one.data, one.bytes), one.stream};
}

Status check(const casync_submission& one, std::size_t at) {
  const std::string name = "submissions[" + std::to_string(at) + "]";
  if (one.device != CASYNC_CPU && one.device != CASYNC_CUDA) {
    return unavailable(name + " is on device number " + std::to_string(one.device) + ", expected " +
                       "CASYNC_CPU or CASYNC_CUDA");
  }
  const bool on_cpu = one.device == CASYNC_CPU;
  if (on_cpu && one.device_index != 0) {
    return unavailable(name + ".device_index is " + std::to_string(one.device_index) + ", on the CPU it is 0");
  }
  if (on_cpu && one.stream != nullptr) {
    return unavailable(name + ".stream is set: memory of the CPU has no stream, give NULL");
  }
  if (one.ready != nullptr) {
    return unavailable(name + ".ready is set: this build takes no events; give the stream that writes the gradient");
  }
  if (one.reserved != 0) return invalid_argument(name + ".reserved is " + std::to_string(one.reserved) + ", not 0");
  if (one.data == nullptr && one.bytes > 0) return invalid_argument(name + ".data is NULL");
  return Status::ok();
}

/// Reads an array whose elements may be smaller or larger than this library's struct.
Status read(const casync_submission* submissions, std::size_t count, std::vector<casync_submission>* out) {
  out->clear();
  if (count == 0) return Status::ok();
  const std::size_t stride = submissions->struct_size;
  if (stride < kFirstSubmissionSize || stride > kMostSize || stride % alignof(casync_submission) != 0) {
    return invalid_argument("casync_submission.struct_size is " + std::to_string(stride) + ", at least " +
                            std::to_string(kFirstSubmissionSize) + ": set it to sizeof(casync_submission)");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const char* from = reinterpret_cast<const char*>(submissions) + i * stride;
    casync_submission one{};
    std::memcpy(&one, from, std::min(stride, sizeof one));
    if (one.struct_size != stride) {
      return invalid_argument("submissions[" + std::to_string(i) + "].struct_size is " +
                              std::to_string(one.struct_size) + ", of the first it is " + std::to_string(stride));
    }
    if (std::any_of(from + std::min(stride, sizeof one), from + stride, [](char byte) { return byte != 0; })) {
      return invalid_argument("submissions[" + std::to_string(i) +
                              "] sets a field that this library does not know: it is older than the program");
    }
    CASYNC_RETURN_IF_ERROR(check(one, i));
    out->push_back(one);
  }
  return Status::ok();
}

/// Two pointers are as many as a std::function holds without memory of its own.
runtime::Completion completion_of(const casync_submission& one) {
  return [done = one.done, user = one.user](runtime::Handle handle, const Status& status) {
    const auto number = static_cast<casync_status>(status.code());
    done(user, static_cast<casync_handle>(handle), number, status.is_ok() ? nullptr : status.message().c_str());
  };
}

/// Completions that have room. Those that have not been added at the end do not come.
struct Promised {
  runtime::Completions& completions;
  std::size_t count = 0;

  ~Promised() {
    if (count > 0) completions.forget(count);
  }
  void add(runtime::Handle handle, runtime::Completion completion) {
    completions.add(handle, std::move(completion));
    --count;
  }
};

Status submit_each(casync_session* session, std::size_t count, const casync_submission* submissions,
                   casync_handle* handles) {
  CASYNC_RETURN_IF_ERROR(check_open(session));
  CASYNC_RETURN_IF_ERROR(need_array(submissions, count, "submissions"));
  thread_local std::vector<casync_submission> given;  // these keep their memory: this runs in every step
  thread_local std::vector<runtime::Submission> starts;
  thread_local std::vector<runtime::Handle> started;
  CASYNC_RETURN_IF_ERROR(read(submissions, count, &given));
  starts.clear();
  for (const casync_submission& one : given) {
    starts.push_back(submission_of(one));
  }
  started.resize(count);
  const auto with = static_cast<std::size_t>(
      std::count_if(given.begin(), given.end(), [](const auto& one) { return one.done != nullptr; }));
  if (with > 0) CASYNC_RETURN_IF_ERROR(session->completions->prepare(with));
  Promised promised{*session->completions, with};
  CASYNC_RETURN_IF_ERROR(session->session->submit(starts, started));
  for (std::size_t i = 0; i < count; ++i) {
    if (handles != nullptr) handles[i] = static_cast<casync_handle>(started[i]);
    if (given[i].done != nullptr) promised.add(started[i], completion_of(given[i]));
  }
  return Status::ok();
}

}  // namespace

casync_status casync_session_submit_each(casync_session* session, size_t count, const casync_submission* submissions,
                                         casync_handle* handles) {
  return guarded([&] { return submit_each(session, count, submissions, handles); });
}
