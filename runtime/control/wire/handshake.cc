// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/handshake.h"

#include <algorithm>

#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/wire.h"

namespace casync::runtime {
namespace {

constexpr std::string_view kMagic = "CSY1";
constexpr Bytes kHeadBytes = 6;
constexpr Bytes kMostReason = 2500;  // the longest identity fits beside it

std::string packet(const std::string& body) {
  std::string bytes(kMagic);
  bytes += static_cast<char>(body.size());
  bytes += static_cast<char>(body.size() >> 8);
  return bytes + body;
}

Result<std::string> body_of(std::string_view bytes) {
  PacketReader reader;
  reader.push(bytes);
  auto next = reader.next();
  if (!next) return next.status();
  if (!next->has_value()) return invalid_argument("half a handshake packet");
  return **next;
}

/// Both bodies with their lengths, so that no two pairs of bodies look alike.
std::string transcript_of(const std::string& hello, const std::string& challenge) {
  return WireWriter().text(hello).text(challenge).take();
}

SessionKeys derive_keys(const std::string& token, const std::string& transcript) {
  return {hmac_sha256(token, "casync to hub" + transcript), hmac_sha256(token, "casync to member" + transcript)};
}

std::string member_proof(const std::string& token, const std::string& transcript) {
  return hmac_sha256(token, "casync member" + transcript);
}

std::string hub_proof(const std::string& token, const std::string& transcript, const std::string& verdict) {
  return hmac_sha256(token, WireWriter().raw("casync hub").raw(transcript).text(verdict).take());
}

}  // namespace

Result<std::optional<std::string>> PacketReader::next() {
  const std::string_view here(bytes_);
  const Bytes seen = std::min(here.size(), kMagic.size());
  if (here.substr(0, seen) != kMagic.substr(0, seen)) return invalid_argument("not the protocol of casync");
  if (here.size() < kHeadBytes) return std::optional<std::string>();
  const Bytes size = static_cast<unsigned char>(here[4]) + 256 * static_cast<unsigned char>(here[5]);
  if (size > kMostPacket) return invalid_argument("a handshake packet of more than 4 KiB");
  if (here.size() < kHeadBytes + size) return std::optional<std::string>();
  std::string body(here.substr(kHeadBytes, size));
  bytes_.erase(0, kHeadBytes + size);
  return std::optional<std::string>(std::move(body));
}

Result<std::string> HubHandshake::challenge(std::string_view hello) {
  WireReader reader(hello);
  hello_.who = read_identity(reader);
  hello_.patience_ms = reader.u64();
  reader.raw(kDigestBytes);  // the member's random bytes: they matter as part of the transcript
  if (!reader.done()) return invalid_argument("a hello of the wrong size");
  const std::string challenge = random_bytes(kDigestBytes);
  transcript_ = transcript_of(std::string(hello), challenge);
  return packet(challenge);
}

Status HubHandshake::check_proof(std::string_view proof) {
  proven_ = same_secret(proof, member_proof(token_, transcript_));
  return proven_ ? Status::ok() : unavailable("wrong token");
}

std::string HubHandshake::verdict(const Verdict& verdict) const {
  WireWriter writer;
  writer.u8(static_cast<std::uint8_t>(verdict.kind)).u64(verdict.epoch);
  writer.u8(static_cast<std::uint8_t>(verdict.reason.code())).text(verdict.reason.message().substr(0, kMostReason));
  write_identity(writer, proven_ ? self_ : Identity());
  const std::string body = writer.take();
  return packet(hub_proof(token_, transcript_, body) + body);
}

SessionKeys HubHandshake::keys() const { return derive_keys(token_, transcript_); }

MemberHandshake::MemberHandshake(const Hello& hello, std::string token) : token_(std::move(token)) {
  WireWriter writer;
  write_identity(writer, hello.who);
  hello_ = packet(writer.u64(hello.patience_ms).raw(random_bytes(kDigestBytes)).take());
}

Result<std::string> MemberHandshake::proof(std::string_view challenge) {
  if (challenge.size() != kDigestBytes) return invalid_argument("a challenge of the wrong size");
  auto hello = body_of(hello_);
  if (!hello) return hello.status();
  transcript_ = transcript_of(*hello, std::string(challenge));
  return packet(member_proof(token_, transcript_));
}

Result<Verdict> MemberHandshake::verdict(std::string_view packet_body) {
  WireReader proven(packet_body);
  const std::string_view proof = proven.raw(kDigestBytes);
  const std::string body(proven.rest());
  if (!same_secret(proof, hub_proof(token_, transcript_, body))) return unavailable("wrong token");
  WireReader reader(body);
  Verdict verdict;
  const std::uint8_t kind = reader.u8();
  verdict.epoch = reader.u64();
  const std::uint8_t code = reader.u8();
  const std::string message(reader.text(kMostReason));
  const Identity hub = read_identity(reader);
  const bool known = kind <= 3 && code <= static_cast<std::uint8_t>(kLastStatusCode);
  // A refusal without a reason would be a failure that is none.
  const bool has_reason = code != static_cast<std::uint8_t>(StatusCode::kOk);
  if (!reader.done() || !known || has_reason == (kind == static_cast<std::uint8_t>(Verdict::Kind::kWelcome))) {
    return invalid_argument("a verdict of the wrong form");
  }
  hub_ = hub;
  verdict.kind = static_cast<Verdict::Kind>(kind);
  verdict.reason = Status(static_cast<StatusCode>(code), message);
  return verdict;
}

SessionKeys MemberHandshake::keys() const { return derive_keys(token_, transcript_); }

}  // namespace casync::runtime
