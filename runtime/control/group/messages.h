// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/control/group/claim_book.h"
#include "runtime/control/group/facts.h"
#include "runtime/control/group/gather_book.h"
#include "runtime/control/wire/frame.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

/// The payloads of frames: structs to bytes and back. Every decode_* returns DataLoss for bytes that have not exactly
/// its form; views that it returns are parts of these bytes.

inline constexpr Bytes kMostName = 1000;
inline constexpr Bytes kMostMessage = 60000;

/// The end of a job: its cause, and the rank that is to blame (-1: none).
struct Abort {
  Rank culprit = -1;
  Status cause;
};

std::string encode_abort(const Abort& abort);
Result<Abort> decode_abort(std::string_view bytes);

/// The identities of all ranks, by rank.
std::string encode_roster(const std::vector<Identity>& roster);
Result<std::vector<Identity>> decode_roster(std::string_view bytes, int ranks);

/// The deadline travels as the time left: clocks of two machines have nothing in common.
std::string encode_gather(const GatherCall& call, Clock::time_point now);
Result<GatherCall> decode_gather(std::string_view bytes, Clock::time_point now);

/// One rank's blob of a collective call, and all of them.
std::string encode_gathered(Rank rank, std::string_view blob);
/// `blobs`: by rank.
std::string encode_all_gathered(const std::vector<BlobRef>& blobs);
Result<std::vector<BlobRef>> decode_all_gathered(std::string_view bytes, int ranks);

/// One rank's blob, as it arrives.
struct Gathered {
  Rank rank = 0;
  std::string_view blob;  ///< a part of the bytes given
};
Result<Gathered> decode_gathered(std::string_view bytes, int ranks);

/// A rank's new claims, as digests.
std::string encode_claims(const std::vector<ClaimDigest>& claims);
Result<std::vector<ClaimDigest>> decode_claims(std::string_view bytes);

/// An agreement as all ranks get it: names as their keys (key_of_name), 16 bytes each.
struct AgreedKeys {
  bool in_turn = true;
  std::vector<std::string_view> keys;  ///< parts of the bytes given
};
std::string encode_agreement(const Agreement& agreement);
Result<AgreedKeys> decode_agreement(std::string_view bytes);

/// The facts of a claim, for a dispute.
std::string encode_told(const std::string& name, const Facts& facts);
Result<Claim> decode_told(std::string_view bytes);

/// As a step of Needs: ranks that lack a name need not be told, because every rank claims it unless it fails.
inline constexpr std::uint32_t kNoStep = ~0u;
/// Names that a rank waits for in a step.
struct Needs {
  std::uint32_t step = 0;
  std::vector<std::string> names;
};
std::string encode_needs(const Needs& needs);
Result<Needs> decode_needs(std::string_view bytes);

/// A frame that relays pass on: from this rank on its way up, to this rank on its way down.
struct Passed {
  Rank rank = 0;
  FrameType type = FrameType::kBeat;
  std::string_view bytes;  ///< a part of the bytes given
};
std::string encode_passed(const Passed& passed);
Result<Passed> decode_passed(std::string_view bytes, int ranks);

/// A rank of a tree, when it has come in.
struct Here {
  Identity who;
  std::vector<std::string> addresses;  ///< at which children reach it
};
std::string encode_here(const Here& here);
Result<Here> decode_here(std::string_view bytes);

/// A rank that has left, and with it the way to rank 0.
std::string encode_alone(const Identity& leaver);
Result<Identity> decode_alone(std::string_view bytes);

/// One name of a claim.
std::string encode_name(std::string_view name);
Result<std::string> decode_name(std::string_view bytes);

/// A sentence about ranks that are late.
std::string encode_late(std::string_view sentence);
Result<std::string> decode_late(std::string_view bytes);

/// Ranks that leave, and the last words of each of them to the others: its caller's bytes. A member sends its own rank
/// alone.
struct Goodbye {
  std::vector<Rank> ranks;
  std::string last_words;
};
std::string encode_goodbye(const Goodbye& goodbye);
Result<Goodbye> decode_goodbye(std::string_view bytes, int ranks);

}  // namespace casync::runtime
