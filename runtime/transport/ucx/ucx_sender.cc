// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_sender.h"

#include <utility>

#include <fmt/core.h>

namespace casync::runtime {
namespace {

// Messages up to this go ahead of what is queued.
constexpr Bytes kSmallBytes = 64_KiB;
// Pieces under way to one peer. On one host two keep both sides busy, and more leave the cache (64 MiB both ways
// over tcp: 24 ms with 2, 28 with 4, 31 with 8). Over a network as many as its round trips need: with pieces of
// 1 MiB, 1 Gbit/s up to 64 ms.
constexpr Bytes kPiecesOnThisHost = 2;
constexpr Bytes kPiecesOverNetwork = 8;

// Returns false if there is no way to the peer, which has failed then.
bool reach(Rank to, UcxEndpoints& endpoints, Peers& peers) {
  if (endpoints.reached(to)) return true;
  if (!peers.status(to).is_ok()) return false;
  const Status status = endpoints.reach(to);
  if (!status.is_ok()) peers.fail_later(to, status);
  return status.is_ok();
}

}  // namespace

UcxSender::UcxSender(const TransportOptions& options, UcxWorker& worker, Peers& peers, TransportStats& stats)
    : frames_(options),
      worker_(worker),
      peers_(peers),
      stats_(stats),
      queues_(static_cast<std::size_t>(options.ranks)),
      messages_(options.ranks) {}

void UcxSender::send(Rank to, std::span<const Outgoing> outgoing) {
  if (!peers_.left(to)) static_cast<void>(reach(to, worker_.endpoints(), peers_));
  if (!peers_.may_send(to, outgoing)) return;
  while (!outgoing.empty()) {
    const std::size_t count = queue(to).announce_all ? 1 : frames_.count_fused(outgoing);
    if (count == 1) {
      start(to, outgoing.front());
    } else {
      start_fused(to, outgoing.first(count));
    }
    outgoing = outgoing.subspan(count);
  }
  pump(to);
}

void UcxSender::start(Rank to, const Outgoing& out) {
  ++stats_.messages_sent;
  stats_.payload_bytes_sent += out.payload.size;
  OutMessage* message = messages_.take(to);
  message->header = frames_.header_for(out.message);
  message->payload = out.payload;
  message->cookies.push_back(out.cookie);
  message->unasked = out.unasked && worker_.may_leave_unasked(to);
  if (out.payload.size <= kSmallBytes) {
    start_piece(*message);
  } else {
    queue(to).waiting.push(message);
  }
}

void UcxSender::send_notice(Rank to, FrameKind kind, const MessageKey& key) {
  if (!reach(to, worker_.endpoints(), peers_)) return;
  OutMessage* message = messages_.take(to);
  message->header = frames_.header_for({.key = key});
  message->header.kind = kind;
  start_piece(*message);
}

void UcxSender::put_off(Rank by, const MessageKey& key) {
  Queue& peer = queue(by);
  messages_.for_each_of(by, [&](OutMessage& message) {
    if (message.is_put_off || !(message.header.message.key == key)) return;
    if (message.header.kind != FrameKind::kData || message.pieces_under_way == 0) return;
    message.is_put_off = true;
    peer.under_way -= message.bytes_under_way;
    peer.waiting.remove(&message);
  });
  pump(by);
}

void UcxSender::start_fused(Rank to, std::span<const Outgoing> outgoing) {
  ++stats_.messages_sent;
  OutMessage* message = messages_.take_fused(to);
  std::vector<std::byte>& bytes = OutMessages::buffer_of(*message);
  message->cookies.reserve(kMostParts);
  frames_.write_fused(outgoing, bytes);
  for (const Outgoing& out : outgoing) {
    stats_.payload_bytes_sent += out.payload.size;
    message->cookies.push_back(out.cookie);
  }
  OutPiece* piece = pieces_.take();
  message->all_started = true;
  const ConstView data{bytes.data(), bytes.size()};
  ConstView announcement;
  if (data.size > kMostFusedAtOnce && !(outgoing.front().unasked && worker_.may_leave_unasked(to))) {
    frames_.write_announcement(data.size, piece->header.data());
    announcement = {piece->header.data(), kFrameHeaderBytes};
  }
  post(*message, *piece, kUcxFused, announcement, data);
}

void UcxSender::start_piece(OutMessage& message) {
  OutPiece* piece = pieces_.take();
  frames_.write_header(message.header, message.payload, message.next_offset, piece->header.data());
  const ConstView data{message.payload.data + message.next_offset, message.header.piece_bytes};
  message.next_offset += data.size;
  message.all_started = message.next_offset == message.payload.size;
  post(message, *piece, kUcxPiece, {piece->header.data(), kFrameHeaderBytes}, data);
}

void UcxSender::post(OutMessage& message, OutPiece& piece, unsigned id, ConstView header, ConstView data) {
  piece.sender = this;
  piece.message = &message;
  piece.bytes = data.size;
  ++message.pieces_under_way;
  message.bytes_under_way += data.size;
  queue(message.to).under_way += data.size;
  stats_.wire_bytes_sent += header.size + data.size;

  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.cb.send = &UcxSender::on_sent;
  param.user_data = &piece;
  const bool is_data = message.header.kind == FrameKind::kData && data.size != 0;
  if (id == kUcxPiece && is_data && queue(message.to).announce_all) {
    param.flags = UCP_AM_SEND_FLAG_RNDV;
  } else if (id == kUcxPiece && message.unasked) {
    param.flags = UCP_AM_SEND_FLAG_EAGER;
  }
  if (id == kUcxFused) param.flags = header.size == 0 ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
  void* request =
      ucp_am_send_nbx(worker_.endpoints().of(message.to), id, header.data, header.size, data.data, data.size, &param);
  if (!UCS_PTR_IS_PTR(request)) end_piece(piece, UCS_PTR_STATUS(request));
}

void UcxSender::on_sent(void* request, ucs_status_t status, void* piece) noexcept {
  ucp_request_free(request);
  auto& sent = *static_cast<OutPiece*>(piece);
  UcxSender& sender = *sent.sender;
  if (sent.message == nullptr) {
    --sender.abandoned_;
    return sender.pieces_.give(&sent);
  }
  const Rank to = sent.message->to;
  sender.peers_.guard(to, [&] { sender.end_piece(sent, status); });
  sender.peers_.guard(to, [&] { sender.pump(to); });
}

void UcxSender::end_piece(OutPiece& piece, ucs_status_t status) {
  OutMessage& message = *std::exchange(piece.message, nullptr);
  Queue& peer = queue(message.to);
  if (std::exchange(message.is_put_off, false)) {  // it has been taken
    peer.under_way += message.bytes_under_way;
    if (!message.all_started) peer.waiting.push(&message);
  }
  peer.under_way -= piece.bytes;
  message.bytes_under_way -= piece.bytes;
  --message.pieces_under_way;
  pieces_.give(&piece);
  if (status != UCS_OK) {
    peers_.fail_later(
        message.to, peer_failure(fmt::format("sending to rank {} failed: {}", message.to, ucs_status_string(status))));
    if (message.status.is_ok()) message.status = peers_.status(message.to);
  }
  end_if_done(message);
}

void UcxSender::end_if_done(OutMessage& message) {
  if (!message.all_started || message.pieces_under_way != 0) return;
  for (std::uint64_t cookie : message.cookies) peers_.sent_later(cookie, message.status);
  messages_.give(message);
}

// Starts pieces of the first queued message while there is room.
void UcxSender::pump(Rank to) {
  Queue& peer = queue(to);
  const Bytes pieces = worker_.endpoints().on_this_host(to) ? kPiecesOnThisHost : kPiecesOverNetwork;
  const Bytes limit = pieces * frames_.piece_bytes();
  while (!peer.waiting.empty() && peer.under_way < limit && peers_.status(to).is_ok()) {
    pieces_.make_ready();  // or nothing is taken from the queue
    OutMessage& message = *peer.waiting.front();
    const Bytes left = message.payload.size - message.next_offset;
    if (left <= frames_.piece_bytes()) peer.waiting.pop();  // it may end within start_piece
    start_piece(message);
  }
}

void UcxSender::cancel(Rank to, const Status& status) {
  Fifo<OutMessage>& waiting = queue(to).waiting;
  while (!waiting.empty()) cancel(*waiting.pop(), status);
  messages_.for_each_of(to, [&](OutMessage& message) {
    if (message.is_put_off) cancel(message, status);
  });
}

void UcxSender::cancel(OutMessage& message, const Status& status) {
  message.all_started = true;
  if (message.status.is_ok()) message.status = status;
  end_if_done(message);
}

void UcxSender::abandon(Rank to, const Status& status) {
  pieces_.for_each([&](OutPiece& piece) {
    if (piece.message == nullptr || piece.message->to != to) return;
    --std::exchange(piece.message, nullptr)->pieces_under_way;
    ++abandoned_;
  });
  messages_.for_each([&](OutMessage& message) {
    if (message.to == to) cancel(message, status);
  });
}

void UcxSender::abandon_all(const Status& status) {
  messages_.for_each([&](OutMessage& message) {
    message.pieces_under_way = 0;
    cancel(message, status);
  });
}

}  // namespace casync::runtime
