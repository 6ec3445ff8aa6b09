// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/group/own_claims.h"
#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/frame.h"
#include "runtime/control/wire/wire.h"

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

std::string encode_claims(const std::vector<ClaimDigest>& claims) {
  WireWriter writer;
  for (const ClaimDigest& claim : claims) writer.text(claim.name).raw(claim.digest);
  return writer.take();
}

Result<std::vector<ClaimDigest>> decode_claims(std::string_view bytes) {
  WireReader reader(bytes);
  std::vector<ClaimDigest> claims;
  while (reader.ok() && !reader.done()) {
    std::string name(reader.text(kMostClaimName));
    claims.push_back({std::move(name), std::string(reader.raw(kDigestBytes))});
  }
  if (!reader.done()) return malformed("claim");
  return claims;
}

std::string encode_agreement(const Agreement& agreement) {
  WireWriter writer;
  writer.u8(agreement.in_turn ? 1 : 0);
  for (const std::string& name : agreement.names) writer.raw(key_of_name(name));
  return writer.take();
}

Result<AgreedKeys> decode_agreement(std::string_view bytes) {
  WireReader reader(bytes);
  AgreedKeys agreed;
  agreed.in_turn = reader.u8() != 0;
  while (reader.ok() && !reader.done()) agreed.keys.push_back(reader.raw(kNameKeyBytes));
  if (!reader.done()) return malformed("agreement");
  return agreed;
}

std::string encode_told(const std::string& name, const Facts& facts) {
  return WireWriter().text(name).raw(encode_facts(facts)).take();
}

Result<Claim> decode_told(std::string_view bytes) {
  WireReader reader(bytes);
  Claim claim;
  claim.name = reader.text(kMostClaimName);
  auto facts = decode_facts(reader.rest());
  if (!reader.done() || !facts) return malformed("statement of facts");
  claim.facts = std::move(*facts);
  return claim;
}

std::string encode_needs(const Needs& needs) {
  WireWriter writer;
  writer.u32(needs.step);
  for (const std::string& name : needs.names) writer.text(name);
  return writer.take();
}

Result<Needs> decode_needs(std::string_view bytes) {
  WireReader reader(bytes);
  Needs needs;
  needs.step = reader.u32();
  while (reader.ok() && !reader.done()) needs.names.emplace_back(reader.text(kMostClaimName));
  if (!reader.done()) return malformed("need");
  return needs;
}

std::string encode_passed(const Passed& passed) {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(passed.rank)).u8(static_cast<std::uint8_t>(passed.type));
  return writer.raw(passed.bytes).take();
}

Result<Passed> decode_passed(std::string_view bytes, int ranks) {
  WireReader reader(bytes);
  Passed passed;
  passed.rank = static_cast<Rank>(reader.u32());
  const std::uint8_t type = reader.u8();
  passed.bytes = reader.rest();
  const bool known = type >= 1 && type <= static_cast<std::uint8_t>(kLastFrameType);
  if (!reader.done() || passed.rank < 0 || passed.rank >= ranks || !known) return malformed("passage");
  passed.type = static_cast<FrameType>(type);
  // Relays do not wrap what is wrapped.
  if (passed.type == FrameType::kUp || passed.type == FrameType::kDown) return malformed("passage");
  if (passed.bytes.size() > most_payload(passed.type)) return malformed("passage");
  return passed;
}

std::string encode_here(const Here& here) {
  WireWriter writer;
  write_identity(writer, here.who);
  for (const std::string& address : here.addresses) writer.text(address);
  return writer.take();
}

Result<Here> decode_here(std::string_view bytes) {
  WireReader reader(bytes);
  Here here;
  here.who = read_identity(reader);
  while (reader.ok() && !reader.done()) here.addresses.emplace_back(reader.text(kMostName));
  if (!reader.done()) return malformed("introduction");
  return here;
}

std::string encode_all_gathered(const std::vector<BlobRef>& blobs) {
  WireWriter writer;
  for (const BlobRef& blob : blobs) writer.text(*blob);
  return writer.take();
}

Result<std::vector<BlobRef>> decode_all_gathered(std::string_view bytes, int ranks) {
  WireReader reader(bytes);
  std::vector<BlobRef> blobs;
  for (Rank rank = 0; rank < ranks && reader.ok(); ++rank) {
    blobs.push_back(std::make_shared<const std::string>(reader.text(kMostBlobBytes)));
  }
  if (!reader.done()) return malformed("list of blobs");
  return blobs;
}

std::string encode_alone(const Identity& leaver) {
  WireWriter writer;
  write_identity(writer, leaver);
  return writer.take();
}

Result<Identity> decode_alone(std::string_view bytes) {
  WireReader reader(bytes);
  Identity leaver = read_identity(reader);
  if (!reader.done()) return malformed("introduction of a rank that has left");
  return leaver;
}

std::string encode_name(std::string_view name) { return WireWriter().text(name).take(); }

Result<std::string> decode_name(std::string_view bytes) {
  WireReader reader(bytes);
  std::string name(reader.text(kMostClaimName));
  if (!reader.done()) return malformed("name");
  return name;
}

std::string encode_late(std::string_view sentence) {
  WireWriter writer;
  return writer.text(sentence).take();
}

Result<std::string> decode_late(std::string_view bytes) {
  WireReader reader(bytes);
  std::string sentence(reader.text(most_payload(FrameType::kLate)));
  if (!reader.done()) return malformed("sentence");
  return sentence;
}

std::string encode_goodbye(const Goodbye& goodbye) {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(goodbye.ranks.size()));
  for (const Rank rank : goodbye.ranks) writer.u32(static_cast<std::uint32_t>(rank));
  return writer.raw(goodbye.last_words).take();
}

Result<Goodbye> decode_goodbye(std::string_view bytes, int ranks) {
  WireReader reader(bytes);
  Goodbye goodbye;
  const std::uint32_t count = reader.u32();
  if (count < 1 || count > static_cast<std::uint32_t>(ranks)) return malformed("goodbye");
  for (std::uint32_t i = 0; i < count; ++i) {
    goodbye.ranks.push_back(static_cast<Rank>(reader.u32()));
    if (goodbye.ranks.back() < 0 || goodbye.ranks.back() >= ranks) return malformed("goodbye");
  }
  goodbye.last_words = reader.rest();
  if (!reader.done()) return malformed("goodbye");
  return goodbye;
}

}  // namespace casync::runtime
