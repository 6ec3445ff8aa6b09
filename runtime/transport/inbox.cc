// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "runtime/transport/checksum.h"

namespace casync::runtime {

struct InboxRecord {
  struct Held {
    HeldPiece piece;
    FrameHeader header;
  };

  InboxRecord(Rank sender, const FrameHeader& first, std::pmr::memory_resource* memory)
      : from(sender), message(first.message), stride(first.piece_stride), seen(memory), held(memory) {
    const bool whole = first.piece_bytes == message.payload_bytes;
    pieces = whole ? 1 : ceil_div(message.payload_bytes, stride);
    pieces_missing = pieces;
  }

  Rank from;
  Message message;
  Bytes stride;                 // the first piece's: all others must agree
  bool placed = false;          // else: put off
  View view;                    // the whole payload's place
  Bytes pieces = 0;             // in all
  Bytes pieces_missing = 0;     // not finished
  Bytes pieces_under_way = 0;   // taken and not finished
  Status status;                // the first thing that went wrong
  std::pmr::vector<bool> seen;  // by piece, of messages of several
  std::pmr::vector<Held> held;
  bool listed = false;  // among those put off, in the list of its gradient
  InboxRecord* next = nullptr;
  InboxRecord* previous = nullptr;
};

namespace {

Bytes piece_number(const InboxRecord& record, const FrameHeader& header) {
  return header.piece_offset == 0 ? 0 : header.piece_offset / record.stride;
}

bool same_message(const InboxRecord& record, const FrameHeader& header) {
  const Message& a = record.message;
  const Message& b = header.message;
  return a.codec == b.codec && a.finite == b.finite && a.elements == b.elements && a.payload_bytes == b.payload_bytes &&
         record.stride == header.piece_stride && piece_number(record, header) < record.pieces;
}

// A peer with more than this put off here is hostile, or does not obey FrameKind::kCrowded. A step of a large job has
// thousands of messages from one rank to another; ranks are at most two steps apart.
constexpr std::size_t kMaxWaitingPieces = 1 << 20;
constexpr Bytes kMaxWaitingBytes = 512_MiB;
constexpr std::size_t kMaxHeldPieces = 1 << 10;  // of one message

// Marks a piece of a placed message as seen. False: it was already. Only a placed message's size is trusted:
// the client has answered with a buffer of that size.
bool first_sight(InboxRecord& record, const FrameHeader& header) {
  if (record.seen.empty()) record.seen.resize(record.pieces, false);
  auto seen = record.seen[piece_number(record, header)];
  if (seen) return false;
  seen = true;
  return true;
}

bool is_held(const InboxRecord& record, const FrameHeader& header) {
  return std::any_of(record.held.begin(), record.held.end(),
                     [&](const InboxRecord::Held& held) { return held.header.piece_offset == header.piece_offset; });
}

}  // namespace

std::size_t Inbox::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = static_cast<std::uint64_t>(key.from);
  for (std::uint64_t word : {key.message.gradient, std::uint64_t{key.message.step},
                             std::uint64_t{key.message.partition}, std::uint64_t{key.message.hop}}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

Inbox::Inbox(Rank rank, int ranks, std::uint64_t epoch, PieceSource& source)
    : rank_(rank),
      ranks_(ranks),
      epoch_(epoch),
      source_(source),
      failed_(static_cast<std::size_t>(ranks)),
      waiting_(static_cast<std::size_t>(ranks)),
      records_(&pool_),
      put_off_(&pool_) {}

Inbox::~Inbox() {
  for (auto& [key, record] : records_) std::destroy_at(record);  // their memory goes with the pool
}

bool Inbox::accepts(const FrameHeader& header) const {
  return header.epoch == epoch_ && header.source != rank_ && header.source < ranks_;
}

Inbox::Arrival Inbox::drop() {
  ++dropped_;
  return {};
}

// Fails the peer: everything else from it is dropped from now on, without asking the client.
void Inbox::refuse(Rank from, Status reason) {
  Status& failure = failed_[static_cast<std::size_t>(from)];
  if (failure.is_ok()) failure = reason;
  source_.refused(from, std::move(reason));
}

Inbox::Arrival Inbox::take(InboxRecord& record, const FrameHeader& header) {
  if (!first_sight(record, header)) return drop();
  ++record.pieces_under_way;
  return {Answer::kTake, &record, record.view.slice(header.piece_offset, header.piece_bytes)};
}

InboxRecord& Inbox::find_or_make(const FrameHeader& header, bool& is_new) {
  const Key key{header.source, header.message.key};
  const auto found = records_.find(key);
  is_new = found == records_.end();
  if (!is_new) return *found->second;
  std::pmr::polymorphic_allocator<> memory(&pool_);
  InboxRecord* record = memory.new_object<InboxRecord>(header.source, header, &pool_);
  records_.emplace(key, record);
  return *record;
}

Inbox::Arrival Inbox::arrive(const FrameHeader& header, HeldPiece held) {
  const Rank from = header.source;
  if (!accepts(header) || has_failed(from)) return drop();
  bool is_new = false;
  InboxRecord& record = find_or_make(header, is_new);
  if (!same_message(record, header)) {
    refuse(from, data_loss(fmt::format("two pieces of {} from rank {} disagree about the message",
                                       describe(header.message.key), from)));
    return drop();
  }
  if (is_new && !ask(record)) return drop();
  if (record.placed) return take(record, header);
  if (is_held(record, header)) return drop();
  return hold(record, header, held);
}

Inbox::Arrival Inbox::hold(InboxRecord& record, const FrameHeader& header, HeldPiece piece) {
  const Rank from = record.from;
  if (waiting(from).pieces >= kMaxWaitingPieces || record.held.size() >= kMaxHeldPieces) {
    refuse(from, data_loss(fmt::format("rank {} has sent {} pieces of messages that nobody here waits for", from,
                                       waiting(from).pieces)));
    return drop();
  }
  record.held.push_back({piece, header});
  ++waiting(from).pieces;
  return {Answer::kHold, &record, {}};
}

void Inbox::keep_bytes(Rank from, Bytes bytes) {
  Bytes& kept = waiting(from).bytes;
  kept += bytes;
  held_bytes_ += bytes;
  if (kept <= kMaxWaitingBytes || has_failed(from)) return;
  refuse(from, data_loss(fmt::format("rank {} has sent {} MiB that nobody here waits for", from, kept / 1_MiB)));
}

void Inbox::drop_held(InboxRecord& record) {
  for (const InboxRecord::Held& held : record.held) source_.drop_held(held.piece);
  waiting(record.from).pieces -= record.held.size();
  record.held.clear();
}

void Inbox::list(InboxRecord& record) {
  if (record.listed) return;
  InboxRecord*& first = put_off_[record.message.key.gradient];
  record.listed = true;
  record.next = first;
  if (first != nullptr) first->previous = &record;
  first = &record;
}

void Inbox::unlist(InboxRecord& record) {
  if (!std::exchange(record.listed, false)) return;
  if (record.next != nullptr) record.next->previous = record.previous;
  if (record.previous != nullptr) {
    record.previous->next = record.next;
  } else if (record.next != nullptr) {
    put_off_[record.message.key.gradient] = record.next;
  } else {
    put_off_.erase(record.message.key.gradient);
  }
  record.next = record.previous = nullptr;
}

// Asks the client where the message goes. False: refused, and the record is gone.
bool Inbox::ask(InboxRecord& record) {
  Placement placement = client_->place(record.from, record.message);
  if (placement.kind == Placement::Kind::kLater) {
    list(record);
  } else {
    unlist(record);
  }
  if (placement.kind == Placement::Kind::kHere) {
    CASYNC_CHECK(placement.view.size == record.message.payload_bytes);
    record.placed = true;
    record.view = placement.view;
  }
  if (placement.kind != Placement::Kind::kRefuse) return true;
  const Rank from = record.from;
  drop_held(record);
  end(record, Status());
  refuse(from, std::move(placement.reason));
  return false;
}

void Inbox::finish(InboxRecord* record, const FrameHeader& header, Status status) {
  // Counted first: should an error's text find no memory, the record can still end.
  --record->pieces_under_way;
  --record->pieces_missing;
  const View piece = record->view.slice(header.piece_offset, header.piece_bytes);
  if (status.is_ok() && header.checksummed && checksum(piece) != header.piece_checksum) {
    status = data_loss(fmt::format(
        "payload of {} from rank {}: checksum differs in {} bytes at offset {} of {}: it was damaged on its "
        "way, or rank {} wrote to the gradient while it was sent",
        describe(record->message.key), record->from, header.piece_bytes, header.piece_offset,
        record->message.payload_bytes, record->from));
  }
  if (!status.is_ok() && record->status.is_ok()) record->status = std::move(status);
  const Status& peer = failed_[static_cast<std::size_t>(record->from)];
  if (record->pieces_missing == 0) {
    end(*record, record->status);
  } else if (!peer.is_ok() && record->pieces_under_way == 0) {
    end(*record, peer);
  }
}

void Inbox::finish_with(InboxRecord* record, const FrameHeader& header, ConstView piece, View into) {
  if (piece.size != into.size) {
    finish(
        record, header,
        data_loss(fmt::format("{} from rank {}: got {} bytes at offset {}, its header says {}",
                              describe(header.message.key), record->from, piece.size, header.piece_offset, into.size)));
    return;
  }
  if (piece.size != 0) std::memcpy(into.data, piece.data, piece.size);
  finish(record, header, Status::ok());
}

// Forgets the record, and reports it when it was placed.
void Inbox::end(InboxRecord& record, const Status& status) {
  const Status result = status;  // NOLINT(performance-unnecessary-copy-initialization): it may live in the record
  const Rank from = record.from;
  const Message message = record.message;
  const bool placed = record.placed;
  unlist(record);
  records_.erase(Key{from, message.key});
  std::pmr::polymorphic_allocator<> memory(&pool_);
  memory.delete_object(&record);
  if (placed) client_->received(from, message, result);
}

void Inbox::retry() {
  std::vector<InboxRecord*> waiting = std::move(scratch_);
  waiting.clear();
  for (auto& [gradient, first] : put_off_) {
    for (InboxRecord* record = first; record != nullptr; record = record->next) waiting.push_back(record);
  }
  ask_again(waiting);
}

void Inbox::retry(std::uint64_t gradient) {
  const auto found = put_off_.find(gradient);
  if (found == put_off_.end()) return;
  std::vector<InboxRecord*> waiting = std::move(scratch_);
  waiting.clear();
  for (InboxRecord* record = found->second; record != nullptr; record = record->next) waiting.push_back(record);
  ask_again(waiting);
}

// `records` is scratch_, which this gives back: the client may send, and messages may end, while it is read.
void Inbox::ask_again(std::vector<InboxRecord*>& records) {
  for (InboxRecord* record : records) {
    // The client is not asked about a failed peer's message: fail() is about to drop it.
    if (!has_failed(record->from) && ask(*record) && record->placed) take_held(*record);
  }
  scratch_ = std::move(records);
}

// Takes what is held of a message that has a place now. The last piece ends the record, and so does any piece once the
// peer has failed: what is held leaves it first.
void Inbox::take_held(InboxRecord& record) {
  const Rank from = record.from;
  const std::pmr::vector<InboxRecord::Held> held = std::move(record.held);
  waiting(from).pieces -= held.size();
  for (const InboxRecord::Held& piece : held) {
    if (has_failed(from)) {
      source_.drop_held(piece.piece);
      continue;
    }
    const Arrival arrival = take(record, piece.header);
    CASYNC_CHECK(arrival.answer == Answer::kTake);  // held pieces differ from one another
    source_.take_held(piece.piece, &record, piece.header, arrival.into);
  }
}

void Inbox::fail(Rank from, const Status& status) {
  Status& failure = failed_[static_cast<std::size_t>(from)];
  if (failure.is_ok()) failure = status;
  std::vector<InboxRecord*> ending = std::move(scratch_);
  ending.clear();
  for (auto& [key, record] : records_) {
    if (record->from == from && record->pieces_under_way == 0) ending.push_back(record);
  }
  for (InboxRecord* record : ending) {
    drop_held(*record);
    end(*record, failure);
  }
  scratch_ = std::move(ending);
}

void Inbox::fail_all(const Status& status) {
  for (Rank from = 0; from < ranks_; ++from) fail(from, status);
}

void Inbox::abandon_all(const Status& status) {
  for (auto& [key, record] : records_) record->pieces_under_way = 0;
  fail_all(status);
}

bool Inbox::has_placed(Rank from) const {
  return std::any_of(records_.begin(), records_.end(),
                     [from](const auto& entry) { return entry.second->from == from && entry.second->placed; });
}

}  // namespace casync::runtime
