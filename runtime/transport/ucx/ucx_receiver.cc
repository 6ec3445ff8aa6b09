// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_receiver.h"

#include <utility>

#include <fmt/core.h>

namespace casync::runtime {
namespace {

ConstView view_of(const void* data, std::size_t size) { return {static_cast<const std::byte*>(data), size}; }

}  // namespace

UcxReceiver::UcxReceiver(const TransportOptions& options, TransportStats& stats)
    : stats_(stats), inbox_(options.rank, options.ranks, options.epoch, *this) {}

Status UcxReceiver::open(UcxWorker& worker, Peers& peers, UcxSender& sender) {
  worker_ = &worker;
  peers_ = &peers;
  sender_ = &sender;
  for (auto [id, callback] : {std::pair{kUcxPiece, &UcxReceiver::on_piece}, {kUcxFused, &UcxReceiver::on_fused}}) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG |
                       UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    param.id = id;
    param.cb = callback;
    param.arg = this;
    // Whole messages in one call, in memory that stays until it is released: pieces may have to wait.
    param.flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA;
    const ucs_status_t status = ucp_worker_set_am_recv_handler(worker.handle(), &param);
    if (status != UCS_OK) return internal_error(fmt::format("UCX: receive handler: {}", ucs_status_string(status)));
  }
  return Status::ok();
}

ucs_status_t UcxReceiver::on_piece(void* self, const void* header, size_t header_length, void* data, size_t length,
                                   const ucp_am_recv_param_t* param) {
  const bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  return static_cast<UcxReceiver*>(self)->piece(view_of(header, header_length), data, length, announced);
}

ucs_status_t UcxReceiver::on_fused(void* self, const void*, size_t, void* data, size_t length,
                                   const ucp_am_recv_param_t* param) {
  auto& receiver = *static_cast<UcxReceiver*>(self);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {  // we never send these so
    ++receiver.stats_.frames_dropped;
    return UCS_OK;
  }
  return receiver.fused(data, length);
}

// UCS_OK tells UCX that it may have its memory back, UCS_INPROGRESS that we release or fetch it later.
ucs_status_t UcxReceiver::piece(ConstView header_bytes, void* data, Bytes length, bool announced) {
  stats_.wire_bytes_received += header_bytes.size + length;
  FrameHeader header;
  if (header_bytes.size != kFrameHeaderBytes || read_frame_header(header_bytes, header) != FrameFault::kNone ||
      !inbox_.accepts(header)) {
    ++stats_.frames_dropped;
    return UCS_OK;
  }
  if (header.kind == FrameKind::kGoodbye) {
    peers_->goodbye(header.source);
    return UCS_OK;
  }
  if (header.kind == FrameKind::kPutOff) {
    sender_->put_off(header.source, header.message.key);
    return UCS_OK;
  }
  stats_.messages_received += header.piece_offset == 0;
  Descriptor* descriptor = nullptr;
  const ConstView eager = announced ? ConstView() : view_of(data, length);
  if (announced && length != header.piece_bytes) announced = false;  // dropped by UCX, and finished as too short
  return deliver(header, data, eager, announced, descriptor) ? UCS_INPROGRESS : UCS_OK;
}

ucs_status_t UcxReceiver::fused(void* data, Bytes length) {
  stats_.wire_bytes_received += length;
  ++stats_.messages_received;
  FusedReader reader(view_of(data, length));
  Descriptor* descriptor = nullptr;
  FrameHeader header;
  ConstView payload;
  while (reader.next(header, payload)) {
    if (!inbox_.accepts(header) || header.kind != FrameKind::kData) {
      ++stats_.frames_dropped;
      continue;
    }
    deliver(header, data, payload, false, descriptor);
  }
  if (reader.fault() != FrameFault::kNone) ++stats_.frames_dropped;
  return descriptor != nullptr ? UCS_INPROGRESS : UCS_OK;
}

// True: UCX's memory is kept, by `descriptor` or by a fetch.
bool UcxReceiver::deliver(const FrameHeader& header, void* data, ConstView eager, bool announced,
                          Descriptor*& descriptor) {
  Held* held = held_.take();
  const Inbox::Arrival arrival = inbox_.arrive(header, held);
  if (arrival.answer == Inbox::Answer::kHold) {
    if (descriptor == nullptr) {
      descriptor = descriptors_.take();
      *descriptor = {.data = data, .users = 0};
    }
    ++descriptor->users;
    *held = {.descriptor = descriptor, .eager = eager, .announced = announced};
    if (announced) sender_->send_notice(header.source, FrameKind::kPutOff, header.message.key);
    return true;
  }
  held_.give(held);
  if (arrival.answer == Inbox::Answer::kDrop) return false;
  stats_.payload_bytes_received += arrival.into.size;
  if (!announced) {
    inbox_.finish_with(arrival.record, header, eager, arrival.into);
    return false;
  }
  fetch(data, arrival.record, header, arrival.into);
  return true;
}

void UcxReceiver::fetch(void* data, InboxRecord* record, const FrameHeader& header, View into) {
  Fetch* fetch = fetches_.take();
  *fetch = {.receiver = this, .record = record, .header = header};
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &UcxReceiver::on_fetched;
  param.user_data = fetch;
  void* request = ucp_am_recv_data_nbx(worker_->handle(), data, into.data, into.size, &param);
  if (!UCS_PTR_IS_PTR(request)) on_fetched(nullptr, UCS_PTR_STATUS(request), into.size, fetch);
}

void UcxReceiver::on_fetched(void* request, ucs_status_t status, size_t length, void* fetch) {
  if (request != nullptr) ucp_request_free(request);
  const Fetch done = *static_cast<Fetch*>(fetch);
  UcxReceiver& receiver = *done.receiver;
  receiver.fetches_.give(static_cast<Fetch*>(fetch));
  const Rank from = done.header.source;
  Status result;
  if (status != UCS_OK) {
    receiver.peers_->fail_later(
        from, peer_failure(fmt::format("receiving from rank {} failed: {}", from, ucs_status_string(status))));
    result = receiver.peers_->status(from);
  } else if (length != done.header.piece_bytes) {
    result = data_loss(fmt::format("{} from rank {}: got {} bytes at offset {}, its header says {}",
                                   describe(done.header.message.key), from, length, done.header.piece_offset,
                                   done.header.piece_bytes));
  }
  receiver.inbox_.finish(done.record, done.header, std::move(result));
}

void UcxReceiver::release(Descriptor& descriptor) {
  if (--descriptor.users != 0) return;
  if (descriptor.data != nullptr) ucp_am_data_release(worker_->handle(), descriptor.data);
  descriptors_.give(&descriptor);
}

void UcxReceiver::take_held(HeldPiece piece, InboxRecord* record, const FrameHeader& header, View into) {
  auto* held = static_cast<Held*>(piece);
  const Held taken = *held;
  held_.give(held);
  stats_.payload_bytes_received += into.size;
  if (taken.announced) {
    void* data = taken.descriptor->data;
    descriptors_.give(taken.descriptor);
    fetch(data, record, header, into);
    return;
  }
  inbox_.finish_with(record, header, taken.eager, into);
  release(*taken.descriptor);
}

void UcxReceiver::drop_held(HeldPiece piece) {
  auto* held = static_cast<Held*>(piece);
  Descriptor& descriptor = *held->descriptor;
  held_.give(held);
  release(descriptor);
}

void UcxReceiver::refused(Rank from, Status reason) { peers_->fail_later(from, std::move(reason)); }

}  // namespace casync::runtime
