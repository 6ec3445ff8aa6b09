// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/fused_fetches.h"

#include <fmt/core.h>

namespace casync::runtime {
namespace {

// Bytes that are fetched at a time, of all peers together: enough for any network's round trip, and a bound on the
// memory that they arrive in.
constexpr Bytes kMostUnderWay = 16_MiB;

}  // namespace

void FusedFetches::open(UcxWorker& worker, Peers& peers) {
  worker_ = &worker;
  peers_ = &peers;
}

bool FusedFetches::announce(Rank from, void* data, Bytes length) {
  bool queued = false;
  peers_->guard(from, [&] {
    waiting_.push_back({data, from, length});
    queued = true;
  });
  fetch_waiting();
  return queued;
}

void FusedFetches::fetch_waiting() noexcept {
  while (!waiting_.empty()) {
    const Waiting next = waiting_.front();
    if (bytes_under_way_ != 0 && bytes_under_way_ + next.bytes > kMostUnderWay) return;
    waiting_.pop_front();
    bool begun = false;
    peers_->guard(next.from, [&] {
      if (!peers_->status(next.from).is_ok()) return;
      staging_.make_ready();
      fetches_.make_ready();
      FusedStaging* staging = staging_.take();
      if (staging->bytes == nullptr) staging->bytes = std::make_unique_for_overwrite<std::byte[]>(most_);
      begun = true;
      fetch(next, *staging);
    });
    if (!begun) ucp_am_data_release(worker_->handle(), next.data);
  }
}

void FusedFetches::fetch(const Waiting& waiting, FusedStaging& staging) {
  Fetch* fetch = fetches_.take();
  *fetch = {.owner = this, .staging = &staging, .from = waiting.from, .bytes = waiting.bytes};
  bytes_under_way_ += waiting.bytes;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &FusedFetches::on_fetched;
  param.user_data = fetch;
  void* request = ucp_am_recv_data_nbx(worker_->handle(), waiting.data, staging.bytes.get(), waiting.bytes, &param);
  if (!UCS_PTR_IS_PTR(request)) on_fetched(nullptr, UCS_PTR_STATUS(request), waiting.bytes, fetch);
}

void FusedFetches::on_fetched(void* request, ucs_status_t status, size_t, void* fetch) noexcept {
  if (request != nullptr) ucp_request_free(request);
  const Fetch done = *static_cast<Fetch*>(fetch);
  FusedFetches& owner = *done.owner;
  owner.fetches_.give(static_cast<Fetch*>(fetch));
  owner.bytes_under_way_ -= done.bytes;
  owner.peers_->guard(done.from, [&] { owner.end(done, status); });
  owner.fetch_waiting();
}

void FusedFetches::end(const Fetch& fetch, ucs_status_t status) {
  bool kept = false;
  if (status == UCS_OK) {
    kept = take_(*fetch.staging, fetch.bytes);
  } else {
    peers_->fail_later(fetch.from, peer_failure(fmt::format("receiving from rank {} failed: {}", fetch.from,
                                                            ucs_status_string(status))));
  }
  if (!kept) staging_.give(fetch.staging);
}

void FusedFetches::drop_waiting() {
  for (const Waiting& waiting : waiting_) ucp_am_data_release(worker_->handle(), waiting.data);
  waiting_.clear();
}

}  // namespace casync::runtime
