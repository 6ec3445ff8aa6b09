// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace casync::compll {

/// The text with one to three changes that a slip of a hand or a hostile one might make: bits flipped, spans removed,
/// repeated or brought over from `other`, words and signs swapped, copied or replaced. The same for the same state of
/// `random`.
std::string mutated(std::string text, const std::string& other, std::mt19937& random);

}  // namespace casync::compll
