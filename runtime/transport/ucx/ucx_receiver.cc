// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_receiver.h"

#include <optional>
#include <utility>

#include <fmt/core.h>

namespace casync::runtime {
namespace {

// The most bytes of headers in an announced fused message. More is no message of a correct peer.
constexpr Bytes kMostFusedHeaders = 4 * kMostParts * kFrameHeaderBytes;

ConstView view_of(const void* data, std::size_t size) { return {static_cast<const std::byte*>(data), size}; }

}  // namespace

UcxReceiver::UcxReceiver(const TransportOptions& options, TransportStats& stats)
    : ranks_(options.ranks),
      stats_(stats),
      inbox_(options.rank, options.ranks, options.epoch, *this),
      met_(options.ranks, options.held_bytes),
      memory_(options.ranks, [this](Rank from, Status reason) { inbox_.refuse(from, std::move(reason)); }),
      held_(memory_, [this](const KeptMessage& message) { release(message); }),
      piece_fetches_(inbox_),
      fused_fetches_(options.fusion_bytes + kMostFusedHeaders, [this](FusedStaging& staging, Bytes length) {
        Incoming incoming{.data = staging.bytes.get(), .length = length, .staging = &staging};
        fused(incoming);
        return incoming.kept;
      }) {}

Status UcxReceiver::open(UcxWorker& worker, Peers& peers, UcxSender& sender) {
  worker_ = &worker;
  peers_ = &peers;
  sender_ = &sender;
  piece_fetches_.open(worker, peers);
  fused_fetches_.open(worker, peers);
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

// The answer tells UCX whether it has its memory back, or we release or fetch it later.
ucs_status_t UcxReceiver::on_piece(void* self, const void* header, size_t header_length, void* data, size_t length,
                                   const ucp_am_recv_param_t* param) noexcept {
  Incoming incoming{.data = data, .length = length};
  incoming.announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  static_cast<UcxReceiver*>(self)->piece(view_of(header, header_length), incoming);
  return incoming.answer();
}

ucs_status_t UcxReceiver::on_fused(void* self, const void* header, size_t header_length, void* data, size_t length,
                                   const ucp_am_recv_param_t* param) noexcept {
  auto& receiver = *static_cast<UcxReceiver*>(self);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    return receiver.take_announcement(view_of(header, header_length), data, length) ? UCS_INPROGRESS : UCS_OK;
  }
  Incoming incoming{.data = data, .length = length};
  receiver.fused(incoming);
  return incoming.answer();
}

// As the inbox does. A peer that this is the first word of is remembered.
bool UcxReceiver::accepts(const FrameHeader& header) {
  if (!inbox_.accepts(header)) return false;
  if (!met_.has(header.source)) {
    peers_->guard(header.source, [&] { met_.add(header.source); });
  }
  return true;
}

// Messages that a peer sends until it hears of this still come.
void UcxReceiver::watch_crowd() {
  const std::optional<bool> crowded = met_.crowd_change(memory_.held_bytes());
  if (!crowded) return;
  for (Rank peer = 0; peer < ranks_; ++peer) {
    if (!met_.has(peer) || !peers_->alive(peer)) continue;
    sender_->send_notice(peer, *crowded ? FrameKind::kCrowded : FrameKind::kRoomy);
  }
}

void UcxReceiver::tell_of_crowd(Rank peer) {
  if (met_.is_crowded() && peers_->alive(peer)) sender_->send_notice(peer, FrameKind::kCrowded);
}

void UcxReceiver::add_counts(TransportStats& stats) const {
  stats.frames_dropped += inbox_.dropped();
  stats.held_bytes = memory_.held_bytes();
}

void UcxReceiver::piece(ConstView header_bytes, Incoming& incoming) {
  stats_.wire_bytes_received += header_bytes.size + incoming.length;
  FrameHeader header;
  if (header_bytes.size != kFrameHeaderBytes || read_frame_header(header_bytes, header) != FrameFault::kNone ||
      !accepts(header) || header.kind == FrameKind::kFused) {
    ++stats_.frames_dropped;
    return;
  }
  peers_->guard(header.source, [&] { handle(header, incoming); });
}

void UcxReceiver::handle(const FrameHeader& header, Incoming& incoming) {
  if (header.kind == FrameKind::kGoodbye) return peers_->goodbye(header.source);
  if (header.kind == FrameKind::kPutOff) return sender_->put_off(header.source, header.message.key);
  if (header.kind == FrameKind::kSettled) return peers_->confirm(header.source);
  if (header.kind == FrameKind::kSettle) {
    if (peers_->alive(header.source)) sender_->send_notice(header.source, FrameKind::kSettled);
    return;
  }
  if (header.kind != FrameKind::kData) {
    return sender_->announce_all(header.source, header.kind == FrameKind::kCrowded);
  }
  stats_.messages_received += header.piece_offset == 0;
  const ConstView eager = incoming.announced ? ConstView() : view_of(incoming.data, incoming.length);
  // One that is not as long as it says is dropped by UCX, and finished as too short.
  if (incoming.length != header.piece_bytes) incoming.announced = false;
  deliver(header, eager, incoming);
}

void UcxReceiver::fused(Incoming& incoming) {
  stats_.wire_bytes_received += incoming.length;
  ++stats_.messages_received;
  FusedReader reader(view_of(incoming.data, incoming.length));
  FrameHeader header;
  ConstView payload;
  while (reader.next(header, payload)) {
    if (!accepts(header) || header.kind != FrameKind::kData) {
      ++stats_.frames_dropped;
      continue;
    }
    peers_->guard(header.source, [&] { deliver(header, payload, incoming); });
  }
  if (reader.fault() != FrameFault::kNone) ++stats_.frames_dropped;
}

// Returns false if the message is not wanted: UCX drops it.
bool UcxReceiver::take_announcement(ConstView header_bytes, void* data, Bytes length) {
  FrameHeader header;
  const bool good = header_bytes.size == kFrameHeaderBytes &&
                    read_frame_header(header_bytes, header) == FrameFault::kNone && accepts(header) &&
                    header.kind == FrameKind::kFused && header.message.payload_bytes == length &&
                    length <= fused_fetches_.most();
  if (!good || !peers_->status(header.source).is_ok()) {
    ++stats_.frames_dropped;
    return false;
  }
  stats_.wire_bytes_received += header_bytes.size;
  return fused_fetches_.announce(header.source, data, length);
}

void UcxReceiver::deliver(const FrameHeader& header, ConstView eager, Incoming& incoming) {
  // Everything that may run out of memory is allocated first; only then does the inbox hear of the piece.
  held_.make_ready();
  piece_fetches_.make_ready();
  HeldPieces::Piece* const held = held_.take();
  const Inbox::Arrival arrival = inbox_.arrive(header, held);
  if (arrival.answer == Inbox::Answer::kHold) return keep(*held, header, eager, incoming);
  held_.give(held);
  if (arrival.answer == Inbox::Answer::kDrop) return;
  stats_.payload_bytes_received += arrival.into.size;
  if (!incoming.announced) return finish_with(inbox_, arrival.record, header, eager, arrival.into);
  incoming.kept = true;
  piece_fetches_.fetch(incoming.data, arrival.record, header, arrival.into);
}

void UcxReceiver::keep(HeldPieces::Piece& piece, const FrameHeader& header, ConstView eager, Incoming& incoming) {
  if (incoming.message == nullptr) {
    const Bytes bytes = incoming.announced ? 0 : incoming.length;
    incoming.message = held_.keep({incoming.data, incoming.staging, header.source, bytes});
    incoming.kept = true;
  }
  held_.hold(piece, *incoming.message, eager, incoming.announced);
  if (incoming.announced) sender_->send_notice(header.source, FrameKind::kPutOff, header.message.key);
}

void UcxReceiver::release(const KeptMessage& message) {
  if (message.staging != nullptr) {
    fused_fetches_.give(message.staging);
  } else if (message.data != nullptr) {
    ucp_am_data_release(worker_->handle(), message.data);
  }
}

void UcxReceiver::take_held(HeldPiece piece, InboxRecord* record, const FrameHeader& header, View into) {
  const HeldPieces::Piece taken = held_.take_out(static_cast<HeldPieces::Piece*>(piece));
  stats_.payload_bytes_received += into.size;
  if (taken.announced) {
    void* data = taken.message->data;
    held_.forget(*taken.message);
    piece_fetches_.fetch(data, record, header, into);
    return;
  }
  finish_with(inbox_, record, header, taken.eager, into);
  held_.release(*taken.message);
}

void UcxReceiver::drop_held(HeldPiece piece) {
  held_.release(*held_.take_out(static_cast<HeldPieces::Piece*>(piece)).message);
}

void UcxReceiver::refused(Rank from, Status reason) { peers_->fail_later(from, std::move(reason)); }

}  // namespace casync::runtime
