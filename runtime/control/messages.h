// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/control/gather_book.h"
#include "runtime/control/identity.h"

namespace casync::runtime {

/// The payloads of frames: structs to bytes and back. Every decode_* refuses (DataLoss) what has not exactly its form.

inline constexpr Bytes kMostName = 1000;
inline constexpr Bytes kMostMessage = 60000;

/// Why the job is over, and which rank is to blame (-1: none).
struct Abort {
  Rank culprit = -1;
  Status cause;
};

std::string encode_abort(const Abort& abort);
Result<Abort> decode_abort(std::string_view bytes);

std::string encode_roster(const std::vector<Identity>& roster);
Result<std::vector<Identity>> decode_roster(std::string_view bytes, int ranks);

/// The deadline travels as the time left: clocks of two machines have nothing in common.
std::string encode_gather(const GatherCall& call, Clock::time_point now);
Result<GatherCall> decode_gather(std::string_view bytes, Clock::time_point now);

std::string encode_gathered(Rank rank, std::string_view blob);
struct Gathered {
  Rank rank = 0;
  std::string_view blob;  ///< a part of the bytes given
};
Result<Gathered> decode_gathered(std::string_view bytes, int ranks);

std::string encode_rank(Rank rank);
Result<Rank> decode_rank(std::string_view bytes, int ranks);

}  // namespace casync::runtime
