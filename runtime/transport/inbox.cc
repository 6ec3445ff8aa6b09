// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/inbox.h"

#include <cstring>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "runtime/transport/checksum.h"

namespace casync::runtime {

Inbox::Inbox(Rank rank, int ranks, std::uint64_t epoch, PieceSource& source)
    : rank_(rank),
      ranks_(ranks),
      epoch_(epoch),
      source_(source),
      failed_(ranks),
      left_(static_cast<std::size_t>(ranks)),
      records_(&pool_),
      waiting_(ranks, &pool_) {}

bool Inbox::accepts(const FrameHeader& header) const {
  return header.epoch == epoch_ && header.source != rank_ && header.source < ranks_;
}

Inbox::Arrival Inbox::drop() {
  ++dropped_;
  return {};
}

void Inbox::refuse(Rank from, Status reason) {
  if (failed_.add(from, reason)) source_.refused(from, std::move(reason));
}

Inbox::Arrival Inbox::take(InboxRecord& record, const FrameHeader& header) {
  const std::optional<View> into = record.take(header);
  return into ? Arrival{Answer::kTake, &record, *into} : drop();
}

Inbox::Arrival Inbox::arrive(const FrameHeader& header, HeldPiece held) {
  const Rank from = header.source;
  if (!accepts(header) || failed_.has(from)) return drop();
  bool is_new = false;
  InboxRecord& record = records_.find_or_make(header, is_new);
  if (!record.is_described_by(header)) {
    refuse(from, data_loss(fmt::format("two pieces of {} from rank {} disagree about the message",
                                       describe(header.message.key), from)));
    return drop();
  }
  if (is_new && !ask(record)) return drop();
  if (record.is_placed()) return take(record, header);
  if (record.holds(header)) return drop();
  if (Status full = waiting_.hold(record, header, held); !full) {
    refuse(from, std::move(full));
    return drop();
  }
  return {Answer::kHold, &record, {}};
}

void Inbox::drop_held(InboxRecord& record) {
  for (const InboxRecord::Held& held : waiting_.take_held(record)) source_.drop_held(held.piece);
}

// Asks the client where the message goes. False: refused, and the record is gone.
bool Inbox::ask(InboxRecord& record) {
  Placement placement = client_->place(record.from(), record.message());
  if (placement.kind == Placement::Kind::kLater) {
    waiting_.add(record);
  } else {
    waiting_.remove(record);
  }
  if (placement.kind == Placement::Kind::kHere) record.place(placement.view);
  if (placement.kind != Placement::Kind::kRefuse) return true;
  const Rank from = record.from();
  drop_held(record);
  end(record, Status());
  refuse(from, std::move(placement.reason));
  return false;
}

void Inbox::finish(InboxRecord* record, const FrameHeader& header, Status status) {
  // Counted first: should an error's text find no memory, the record can still end.
  const View piece = record->end_piece(header);
  const Rank from = record->from();
  if (status.is_ok() && header.checksummed && checksum(piece) != header.piece_checksum) {
    status = data_loss(fmt::format(
        "payload of {} from rank {}: checksum differs in {} bytes at offset {} of {}: it was damaged on its "
        "way, or rank {} wrote to the gradient while it was sent",
        describe(record->message().key), from, header.piece_bytes, header.piece_offset, record->message().payload_bytes,
        from));
  }
  if (!status.is_ok()) record->fail(std::move(status));
  if (record->is_complete()) {
    end(*record, record->status());
  } else if (failed_.has(from) && record->is_idle()) {
    end(*record, failed_.status(from));
  }
}

// Forgets the record, and reports it when it was placed.
void Inbox::end(InboxRecord& record, const Status& status) {
  const Status result = status;  // NOLINT(performance-unnecessary-copy-initialization): it may live in the record
  const Rank from = record.from();
  const Message message = record.message();
  const bool placed = record.is_placed();
  waiting_.remove(record);
  records_.forget(record);
  if (placed) client_->received(from, message, result);
}

void Inbox::retry(std::optional<std::uint64_t> gradient) {
  // The client may send, and messages may end, while the list is read.
  std::vector<InboxRecord*> records = std::move(scratch_);
  records.clear();
  gradient ? waiting_.add_of(*gradient, records) : waiting_.add_all(records);
  for (InboxRecord* record : records) {
    // The client is not asked about a failed peer's message: fail() is about to drop it.
    const Rank from = record->from();
    if (failed_.has(from) || !ask(*record) || !record->is_placed()) continue;
    if (left_[static_cast<std::size_t>(from)] && record->lacks_pieces()) refuse(from, left_in_a_message(from));
    take_held(*record);
  }
  scratch_ = std::move(records);
}

// Takes what is held of a message that has a place now. The last piece ends the record, and so does any piece once the
// peer has failed: what is held leaves it first.
void Inbox::take_held(InboxRecord& record) {
  const Rank from = record.from();
  for (const InboxRecord::Held& piece : waiting_.take_held(record)) {
    if (failed_.has(from)) {
      source_.drop_held(piece.piece);
      continue;
    }
    const Arrival arrival = take(record, piece.header);
    CASYNC_CHECK(arrival.answer == Answer::kTake);  // held pieces differ from one another
    source_.take_held(piece.piece, &record, piece.header, arrival.into);
  }
}

void Inbox::fail(Rank from, const Status& status) {
  failed_.add(from, status);
  std::vector<InboxRecord*> ending = std::move(scratch_);
  ending.clear();
  records_.add_idle(from, ending);
  std::exception_ptr thrown;
  for (InboxRecord* record : ending) {
    try {
      drop_held(*record);
      end(*record, failed_.status(from));
    } catch (...) {  // of the client: the other messages end all the same
      thrown = std::current_exception();
    }
  }
  scratch_ = std::move(ending);
  if (thrown) std::rethrow_exception(thrown);
}

void Inbox::fail_all(const Status& status) {
  std::exception_ptr thrown;
  for (Rank from = 0; from < ranks_; ++from) {
    try {
      fail(from, status);
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

void Inbox::abandon_all(const Status& status) {
  records_.abandon();
  fail_all(status);
}

void finish_with(Inbox& inbox, InboxRecord* record, const FrameHeader& header, ConstView piece, View into) {
  if (piece.size != into.size) {
    inbox.finish(record, header,
                 data_loss(fmt::format("{} from rank {}: got {} bytes at offset {}, its header says {}",
                                       describe(header.message.key), record->from(), piece.size, header.piece_offset,
                                       into.size)));
    return;
  }
  if (piece.size != 0) std::memcpy(into.data, piece.data, piece.size);
  inbox.finish(record, header, Status::ok());
}

Status left_in_a_message(Rank from) {
  return peer_failure(fmt::format("rank {} closed its transport in the middle of a message", from));
}

}  // namespace casync::runtime
