// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/stream_coder.h"

#include "base/check.h"

namespace casync::runtime {

Status StreamCoder::write(const compll::PayloadCoding& coding, Elements n, View plain, View payload, Stream& stream) {
  return queue({this, &coding, n, true, plain, payload}, stream);
}

Status StreamCoder::read(const compll::PayloadCoding& coding, Elements n, View payload, View plain, Stream& stream) {
  return queue({this, &coding, n, false, plain, payload}, stream);
}

Status StreamCoder::queue(const Job& job, Stream& stream) {
  CASYNC_CHECK(used_ < jobs_.size());
  Job& own = jobs_[used_++];
  own = job;
  return stream.call(run, &own);
}

void StreamCoder::run(void* job) {
  const Job& own = *static_cast<const Job*>(job);
  StreamCoder& self = *own.coder;
  const std::lock_guard lock(self.mutex_);
  if (self.silent_) return;
  if (own.writes) {
    self.written_ = own.coding->write(own.plain.data, own.n, own.payload.data);
  } else {
    own.coding->read(own.payload, own.n, own.plain.data);
  }
}

void StreamCoder::silence() {
  const std::lock_guard lock(mutex_);
  silent_ = true;
}

}  // namespace casync::runtime
