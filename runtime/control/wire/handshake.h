// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

/// The handshake by which a member and the hub (rank 0) prove to each other that they hold the job's token. Neither
/// trusts the other earlier. Pure functions of bytes; sockets are elsewhere.
///
///   member -> hub   hello      who I am, how long I can wait, 32 random bytes
///   hub -> member   challenge  32 random bytes
///   member -> hub   proof      hmac(token, "casync member" hello challenge)
///   hub -> member   verdict    welcome or not and why, who I am, and hmac(token, "casync hub" hello challenge verdict)
///
/// Each is a packet: "CSY1", length u16, body; 4 KiB at most. The member proves itself first: a stranger gets
/// nothing out of the hub that depends on the token, and does not learn who it is.
inline constexpr Bytes kMostPacket = 4_KiB;
inline constexpr Seconds kHandshakeTime{5};

/// Cuts packets out of a stream; bytes after the packet are kept for the next reader.
class PacketReader {
 public:
  void push(std::string_view bytes) { bytes_ += bytes; }
  /// The next packet's body; nullopt: not all here. InvalidArgument: this is not our protocol.
  Result<std::optional<std::string>> next();
  /// The bytes after the last packet.
  std::string rest() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// A member's first packet: itself, unproven.
struct Hello {
  Identity who;
  std::uint64_t patience_ms = 0;  ///< until its join gives up
};

/// The hub's answer once the member proved itself.
struct Verdict {
  enum class Kind : std::uint8_t { kWelcome, kRefused, kTryAgain, kElsewhere } kind = Kind::kWelcome;
  std::uint64_t epoch = 0;
  Status reason;  ///< unless welcome; kElsewhere: the addresses of the parent, "" while it has none
};

/// A key for each direction of what follows.
struct SessionKeys {
  std::string to_hub, to_member;
};

/// Rank 0's side of the handshake with one member: hello, challenge, proof, verdict. Plain data.
class HubHandshake {
 public:
  HubHandshake(const Identity& self, std::string token) : self_(self), token_(std::move(token)) {}
  /// The challenge that answers a hello. InvalidArgument: not a hello.
  Result<std::string> challenge(std::string_view hello);
  /// Unavailable: the other side does not hold the token.
  Status check_proof(std::string_view proof);
  /// Says who this is after a proof that holds.
  std::string verdict(const Verdict& verdict) const;
  /// To be believed only after check_proof.
  const Hello& hello() const { return hello_; }
  SessionKeys keys() const;

 private:
  Identity self_;
  std::string token_;
  Hello hello_;
  std::string transcript_;
  bool proven_ = false;
};

/// The member's side of the same handshake. Plain data.
class MemberHandshake {
 public:
  MemberHandshake(const Hello& hello, std::string token);
  const std::string& hello() const { return hello_; }
  /// The proof that answers a challenge. InvalidArgument: not a challenge.
  Result<std::string> proof(std::string_view challenge);
  /// Unavailable: the other side does not hold the token. InvalidArgument: not a verdict.
  Result<Verdict> verdict(std::string_view packet);
  /// After verdict().
  const Identity& hub() const { return hub_; }
  SessionKeys keys() const;

 private:
  std::string token_;
  std::string hello_;
  std::string transcript_;
  Identity hub_;
};

}  // namespace casync::runtime
