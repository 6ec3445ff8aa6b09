// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/codec.h"

namespace casync::compll {

using Parameters = std::vector<std::pair<std::string, double>>;

/// A codec that exists.
std::unique_ptr<Codec> codec_of(const std::string& name, const Parameters& parameters = {});

/// The usual codecs: those that reference_encode knows as plain loops.
std::vector<std::string> first_names();

/// Every one of them with its defaults, and those with blocks also with their smallest, an odd-sized and their largest
/// one.
std::vector<std::unique_ptr<Codec>> all_codecs();

/// The codec and its block, for a test's messages.
std::string title(const Codec& codec);

/// An encoding with its residual; memory of exactly the size that is promised.
struct Coded {
  std::vector<std::byte> payload;
  std::vector<float> residual;
  bool finite = true;
  ConstView view() const { return {payload.data(), payload.size()}; }
};

/// Encodes in + residual_in (none when empty). A codec with states of its own gets them there, one after the other.
Coded encode(const Codec& codec, std::span<const float> in, std::span<const float> residual_in = {},
             const EncodeContext& context = {});

std::vector<float> decode(const Codec& codec, const Coded& coded, Elements n);

/// D(E(x)).
std::vector<float> round_trip(const Codec& codec, std::span<const float> x);

/// Byte for byte, so that NaN equals itself and 0 is not -0.
bool same_bytes(std::span<const float> a, std::span<const float> b);

/// ||a - b||^2 / ||a||^2.
double relative_error(std::span<const float> a, std::span<const float> b);

/// The larger one of two errors; NaN if one of them is.
double larger_error(double a, double b);

}  // namespace casync::compll
