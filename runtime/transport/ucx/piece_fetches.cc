// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/piece_fetches.h"

#include <utility>

#include <fmt/core.h>

namespace casync::runtime {

void PieceFetches::open(UcxWorker& worker, Peers& peers) {
  worker_ = &worker;
  peers_ = &peers;
}

void PieceFetches::fetch(void* data, InboxRecord* record, const FrameHeader& header, View into) {
  Fetch* fetch = fetches_.take();
  *fetch = {.owner = this, .record = record, .header = header};
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &PieceFetches::on_fetched;
  param.user_data = fetch;
  void* request = ucp_am_recv_data_nbx(worker_->handle(), data, into.data, into.size, &param);
  if (!UCS_PTR_IS_PTR(request)) on_fetched(nullptr, UCS_PTR_STATUS(request), into.size, fetch);
}

void PieceFetches::on_fetched(void* request, ucs_status_t status, size_t length, void* fetch) noexcept {
  if (request != nullptr) ucp_request_free(request);
  const Fetch done = *static_cast<Fetch*>(fetch);
  PieceFetches& owner = *done.owner;
  const Rank from = done.header.source;
  owner.fetches_.give(static_cast<Fetch*>(fetch));
  Status result(StatusCode::kInternal, {});  // stands where there is no memory for a better text
  owner.peers_->guard(from, [&] { result = owner.outcome(done, status, length); });
  owner.peers_->guard(from, [&] { owner.inbox_.finish(done.record, done.header, std::move(result)); });
}

Status PieceFetches::outcome(const Fetch& fetch, ucs_status_t status, Bytes length) {
  const Rank from = fetch.header.source;
  if (status != UCS_OK) {
    peers_->fail_later(from,
                       peer_failure(fmt::format("receiving from rank {} failed: {}", from, ucs_status_string(status))));
    return peers_->status(from);
  }
  if (length == fetch.header.piece_bytes) return Status::ok();
  return data_loss(fmt::format("{} from rank {}: got {} bytes at offset {}, its header says {}",
                               describe(fetch.header.message.key), from, length, fetch.header.piece_offset,
                               fetch.header.piece_bytes));
}

}  // namespace casync::runtime
