// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/frame.h"
#include "runtime/control/wire.h"

namespace casync::runtime {
namespace {

constexpr std::uint64_t kMostPatienceMs = 1000ull * 3600 * 24 * 365;

Status malformed(const char* what) { return data_loss(fmt::format("a control frame with a malformed {}", what)); }

}  // namespace

std::string encode_abort(const Abort& abort) {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(abort.culprit)).u8(static_cast<std::uint8_t>(abort.cause.code()));
  return writer.text(abort.cause.message().substr(0, kMostMessage)).take();
}

Result<Abort> decode_abort(std::string_view bytes) {
  WireReader reader(bytes);
  Abort abort;
  abort.culprit = static_cast<Rank>(reader.u32());
  const std::uint8_t code = reader.u8();
  const std::string message(reader.text(kMostMessage));
  if (!reader.done() || code == 0 || code > static_cast<std::uint8_t>(kLastStatusCode)) return malformed("cause");
  abort.cause = Status(static_cast<StatusCode>(code), message);
  return abort;
}

std::string encode_roster(const std::vector<Identity>& roster) {
  WireWriter writer;
  for (const Identity& identity : roster) write_identity(writer, identity);
  return writer.take();
}

Result<std::vector<Identity>> decode_roster(std::string_view bytes, int ranks) {
  WireReader reader(bytes);
  std::vector<Identity> roster;
  for (Rank rank = 0; rank < ranks && reader.ok(); ++rank) roster.push_back(read_identity(reader));
  if (!reader.done()) return malformed("list of ranks");
  return roster;
}

std::string encode_gather(const GatherCall& call, Clock::time_point now) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline - now).count();
  WireWriter writer;
  writer.u64(static_cast<std::uint64_t>(std::max<long long>(left, 0))).text(call.what.substr(0, kMostName));
  return writer.raw(*call.blob).take();
}

Result<GatherCall> decode_gather(std::string_view bytes, Clock::time_point now) {
  WireReader reader(bytes);
  const std::uint64_t left = std::min(reader.u64(), kMostPatienceMs);
  GatherCall call;
  call.what = reader.text(kMostName);
  const std::string_view blob = reader.rest();
  if (!reader.done() || blob.size() > kMostBlobBytes) return malformed("collective call");
  call.blob = std::make_shared<const std::string>(blob);
  call.deadline = now + std::chrono::milliseconds(left);
  return call;
}

std::string encode_gathered(Rank rank, std::string_view blob) {
  return WireWriter().u32(static_cast<std::uint32_t>(rank)).raw(blob).take();
}

Result<Gathered> decode_gathered(std::string_view bytes, int ranks) {
  WireReader reader(bytes);
  Gathered gathered;
  gathered.rank = static_cast<Rank>(reader.u32());
  gathered.blob = reader.rest();
  if (!reader.done() || gathered.rank < 0 || gathered.rank >= ranks) return malformed("blob");
  return gathered;
}

std::string encode_rank(Rank rank) { return WireWriter().u32(static_cast<std::uint32_t>(rank)).take(); }

Result<Rank> decode_rank(std::string_view bytes, int ranks) {
  WireReader reader(bytes);
  const Rank rank = static_cast<Rank>(reader.u32());
  if (!reader.done() || rank < 0 || rank >= ranks) return malformed("rank");
  return rank;
}

}  // namespace casync::runtime
