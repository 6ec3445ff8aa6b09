// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "runtime/transport/frame.h"
#include "runtime/transport/inbox.h"
#include "runtime/transport/loopback/factory.h"
#include "runtime/transport/loopback/hub.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/pool.h"
#include "runtime/transport/retry_requests.h"

namespace casync::runtime {
namespace {

class Loopback final : public Transport, private PieceSource {
 public:
  Loopback(const TransportOptions& options, LoopbackOptions loopback, std::shared_ptr<LoopbackHub> hub)
      : options_(options),
        loopback_(std::move(loopback)),
        hub_(std::move(hub)),
        mailbox_(hub_->mailbox(options.rank)),
        inbox_(options.rank, options.ranks, options.epoch, *this),
        peers_(options.ranks, inbox_),
        random_(loopback_.shuffle_seed) {
    options_.piece_bytes = std::max(options_.piece_bytes, kMinPieceBytes);
  }

  ~Loopback() override { hub_->leave(options_.rank, closed_); }

  std::string address() const override { return fmt::format("loopback {} {}", options_.epoch, options_.rank); }
  Status connect(std::span<const std::string> addresses, TransportClient& client) override;
  void send(Rank to, std::span<const Outgoing> outgoing) override;
  void retry_held() override { retries_.ask(); }
  void retry_held(std::uint64_t gradient) override {
    if (inbox_.any_put_off()) retries_.ask(gradient);
  }
  bool progress() override;
  void wait(Clock::time_point deadline) override;
  void wake() override { mailbox_.bell().ring(); }
  void settle() override {}
  bool settled() const override { return true; }  // what was sent lies in the others' mailboxes
  bool close(Clock::time_point deadline) override;
  TransportStats stats() const override { return stats_; }
  Bytes announced_bytes(Rank) const override { return 0; }
  std::string description() const override { return "loopback"; }

 private:
  struct Copy {
    std::vector<std::byte> bytes;
  };

  void take_held(HeldPiece piece, InboxRecord* record, const FrameHeader& header, View into) override;
  void drop_held(HeldPiece piece) override;
  void refused(Rank from, Status reason) override { peers_.fail_later(from, std::move(reason)); }

  void send_as_one(Rank to, std::span<const Outgoing> outgoing);
  FrameHeader header_for(const Message& message) const;
  static void append(Parcel& parcel, Bytes& at, FrameHeader& header, ConstView payload, Bytes offset, bool checksum);
  void put(Rank to, Parcel parcel);
  void deliver(Parcel& parcel);
  void deliver_piece(const FrameHeader& header, ConstView payload);
  void shuffle_arrived();

  TransportOptions options_;
  LoopbackOptions loopback_;
  std::shared_ptr<LoopbackHub> hub_;
  Mailbox& mailbox_;
  Inbox inbox_;
  Peers peers_;
  TransportStats stats_;
  RetryRequests retries_;
  bool closed_ = false;
  std::vector<Parcel> arrived_, batch_;
  Pool<Copy> copies_;
  std::mt19937_64 random_;
  std::uint64_t wire_number_ = 0;
};

Status Loopback::connect(std::span<const std::string> addresses, TransportClient& client) {
  if (addresses.size() != static_cast<std::size_t>(options_.ranks)) {
    return invalid_argument(fmt::format("{} addresses for {} ranks", addresses.size(), options_.ranks));
  }
  for (Rank r = 0; r < options_.ranks; ++r) {
    const std::string expected = fmt::format("loopback {} {}", options_.epoch, r);
    const std::string& seen = addresses[static_cast<std::size_t>(r)];
    if (seen != expected) {
      return invalid_argument(fmt::format("rank {} has the address \"{}\", expected \"{}\"", r, seen, expected));
    }
  }
  inbox_.set_client(client);
  peers_.set_client(client);
  return Status::ok();
}

FrameHeader Loopback::header_for(const Message& message) const {
  FrameHeader header;
  header.message = message;
  header.epoch = options_.epoch;
  header.source = options_.rank;
  header.piece_stride = message.payload_bytes;
  return header;
}

// Header and piece, at `at` and after it.
void Loopback::append(Parcel& parcel, Bytes& at, FrameHeader& header, ConstView payload, Bytes offset, bool checksum) {
  set_piece(header, payload, offset, checksum);
  write_frame_header(header, parcel.bytes.data() + at);
  at += kFrameHeaderBytes;
  if (header.piece_bytes != 0) std::memcpy(parcel.bytes.data() + at, payload.data + offset, header.piece_bytes);
  at += header.piece_bytes;
}

void Loopback::send(Rank to, std::span<const Outgoing> outgoing) {
  if (!peers_.may_send(to, outgoing)) return;
  for (std::span<const Outgoing> rest = outgoing; !rest.empty();) {
    const std::size_t count = count_fused(rest, options_.fusion_bytes);
    send_as_one(to, rest.first(count));
    rest = rest.subspan(count);
  }
  for (const Outgoing& out : outgoing) peers_.sent_later(out.cookie, Status::ok());
}

void Loopback::send_as_one(Rank to, std::span<const Outgoing> outgoing) {
  ++stats_.messages_sent;
  Bytes total = 0;
  for (const Outgoing& out : outgoing) total += kFrameHeaderBytes + out.payload.size;
  for (const Outgoing& out : outgoing) stats_.payload_bytes_sent += out.payload.size;

  if (outgoing.size() == 1 && outgoing[0].payload.size > options_.piece_bytes) {
    const ConstView payload = outgoing[0].payload;
    FrameHeader header = header_for(outgoing[0].message);
    header.piece_stride = options_.piece_bytes;
    for (Bytes offset = 0; offset < payload.size; offset += options_.piece_bytes) {
      const Bytes piece = std::min(options_.piece_bytes, payload.size - offset);
      Parcel parcel{.bytes = hub_->pool().take(kFrameHeaderBytes + piece), .from = options_.rank};
      Bytes at = 0;
      append(parcel, at, header, payload, offset, options_.checksum);
      put(to, std::move(parcel));
    }
  } else {
    Parcel parcel{.bytes = hub_->pool().take(total), .from = options_.rank};
    Bytes at = 0;
    for (const Outgoing& out : outgoing) {
      FrameHeader header = header_for(out.message);
      append(parcel, at, header, out.payload, 0, options_.checksum);
    }
    put(to, std::move(parcel));
  }
}

void Loopback::put(Rank to, Parcel parcel) {
  stats_.wire_bytes_sent += parcel.bytes.size();
  const WireFault fault = loopback_.fault ? loopback_.fault(to, wire_number_++) : WireFault::kNone;
  Mailbox& mailbox = hub_->mailbox(to);
  switch (fault) {
    case WireFault::kNone: break;
    case WireFault::kDrop: return;
    case WireFault::kCorruptPayload: parcel.bytes.back() ^= std::byte{1}; break;
    case WireFault::kCorruptHeader: parcel.bytes[kFrameHeaderBytes / 2] ^= std::byte{1}; break;
    case WireFault::kTruncate: parcel.bytes.pop_back(); break;
    case WireFault::kDuplicate: mailbox.put(parcel); break;
  }
  mailbox.put(std::move(parcel));
}

bool Loopback::progress() {
  bool moved = peers_.progress();
  moved = retries_.meet(inbox_) || moved;
  mailbox_.take_all(batch_);
  std::move(batch_.begin(), batch_.end(), std::back_inserter(arrived_));
  batch_.clear();
  if (loopback_.shuffle_seed != 0) {
    shuffle_arrived();
  } else {
    batch_.swap(arrived_);
  }
  for (Parcel& parcel : batch_) deliver(parcel);
  moved = moved || !batch_.empty();
  batch_.clear();
  return peers_.progress() || moved;
}

// Moves a random part of the arrived parcels into batch_, in random order. The last parcel of a sender overtakes none
// of its others, as on every network: a rank is settled by the time that it says goodbye.
void Loopback::shuffle_arrived() {
  std::shuffle(arrived_.begin(), arrived_.end(), random_);
  std::partition(arrived_.begin(), arrived_.end(), [](const Parcel& parcel) { return !parcel.last; });
  const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(random_() % (arrived_.size() + 1));
  std::move(arrived_.begin(), end, std::back_inserter(batch_));
  arrived_.erase(arrived_.begin(), end);
}

void Loopback::deliver(Parcel& parcel) {
  if (parcel.sender_gone) {
    peers_.fail(parcel.from, peer_failure(fmt::format("rank {} is gone", parcel.from)));
    return;
  }
  const ConstView wire{parcel.bytes.data(), parcel.bytes.size()};
  stats_.wire_bytes_received += wire.size;
  FrameHeader header;
  const bool understood = read_frame_header(wire, header) == FrameFault::kNone && inbox_.accepts(header);
  if (!understood || (header.kind != FrameKind::kData && header.kind != FrameKind::kGoodbye)) {
    ++stats_.frames_dropped;
  } else if (header.kind == FrameKind::kGoodbye) {
    peers_.goodbye(header.source);
  } else if (header.piece_bytes != header.message.payload_bytes) {
    deliver_piece(header, wire.slice(kFrameHeaderBytes, wire.size - kFrameHeaderBytes));
    stats_.messages_received += header.piece_offset == 0;
  } else {
    ++stats_.messages_received;
    FusedReader reader(wire);
    ConstView payload;
    while (reader.next(header, payload)) deliver_piece(header, payload);
    if (reader.fault() == FrameFault::kShort) deliver_piece(header, {});
    if (reader.fault() != FrameFault::kNone) ++stats_.frames_dropped;
  }
  hub_->pool().give(std::move(parcel.bytes));
}

void Loopback::deliver_piece(const FrameHeader& header, ConstView payload) {
  Copy* const copy = copies_.take();
  const Inbox::Arrival arrival = inbox_.arrive(header, copy);
  if (arrival.answer == Inbox::Answer::kHold) {
    copy->bytes.assign(payload.data, payload.data + payload.size);
    return;
  }
  copies_.give(copy);
  if (arrival.answer != Inbox::Answer::kTake) return;
  stats_.payload_bytes_received += payload.size;
  finish_with(inbox_, arrival.record, header, payload, arrival.into);
}

void Loopback::take_held(HeldPiece piece, InboxRecord* record, const FrameHeader& header, View into) {
  auto* copy = static_cast<Copy*>(piece);
  stats_.payload_bytes_received += copy->bytes.size();
  copies_.give(copy);
  finish_with(inbox_, record, header, {copy->bytes.data(), copy->bytes.size()}, into);
}

void Loopback::drop_held(HeldPiece piece) { copies_.give(static_cast<Copy*>(piece)); }

void Loopback::wait(Clock::time_point deadline) {
  if (peers_.has_news() || retries_.any() || !arrived_.empty() || mailbox_.bell().rang()) return;
  mailbox_.bell().sleep(-1, deadline);
  mailbox_.bell().rang();
}

bool Loopback::close(Clock::time_point) {
  closed_ = true;
  peers_.progress();
  FrameHeader goodbye = header_for({});
  goodbye.kind = FrameKind::kGoodbye;
  for (Rank to = 0; to < options_.ranks; ++to) {
    if (to == options_.rank || !peers_.alive(to)) continue;
    Parcel parcel{.bytes = hub_->pool().take(kFrameHeaderBytes), .from = options_.rank, .last = true};
    write_frame_header(goodbye, parcel.bytes.data());
    hub_->mailbox(to).put(std::move(parcel));
  }
  inbox_.fail_all(aborted("the transport was closed"));
  peers_.progress();
  return true;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_loopback(const TransportOptions& options, const LoopbackOptions& loopback) {
  std::shared_ptr<LoopbackHub> hub = LoopbackHub::of(options.epoch);
  if (!hub->enter(options.rank)) {
    return invalid_argument(
        fmt::format("loopback: rank {} of epoch {} exists already in this process", options.rank, options.epoch));
  }
  if (Status status = hub->mailbox(options.rank).bell().status(); !status) {
    hub->leave(options.rank, true);
    return status;
  }
  return std::unique_ptr<Transport>(std::make_unique<Loopback>(options, loopback, std::move(hub)));
}

}  // namespace casync::runtime
