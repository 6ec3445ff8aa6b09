// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "casync/simulator/profile.h"
#include "casync/strategies/strategy.h"

namespace casync {

/// Numbers of floats that a codec which exchanges within a step takes for one gradient.
struct RoundsFacts {
  std::vector<Elements> exchanged;       ///< of each exchange
  Elements states = 0;                   ///< kept from step to step
  std::vector<std::string> codecs = {};  ///< of the first exchanges, one each; `none` carries the others
};

/// The simulator's description of a codec.
struct CodecFacts {
  std::string name;  ///< with parameters, as text_of(CodecChoice): the key of the profile's curves
  CodecTraits traits;
  bool identity = false;               ///< its code is the gradient's own memory: nothing to encode or to decode
  double state_bytes_per_element = 0;  ///< read and written besides the elements when encoding: residuals, momentum
  /// For a codec that exchanges within a step: its facts from rows and columns; null: the codec encodes.
  std::function<RoundsFacts(Elements, Elements)> rounds = nullptr;
  bool own = false;            ///< no codec: elements of the rank that merges them, or their sum
  bool takes_vectors = false;  ///< a codec that exchanges, and takes any gradient as one column
  /// Returns true if a copy of a vector that adds up decoded codes of its differences to it comes nearer; null: it
  /// does.
  std::function<bool()> brings_nearer = nullptr;
};
using CodecFactsOf = std::function<Result<CodecFacts>(const CodecChoice&)>;

/// Returns the curves of a codec with its parameters, else of that codec; empty: there are none.
CodecCurves curves_of(const Profile& profile, const std::string& codec);

/// A codec with its prices on one machine. The profile's curves are used if it has any. Else memory is the limit:
/// each operation takes the bytes that it must read and write over the memory's bandwidth.
class CodecCosts {
 public:
  CodecCosts(CodecFacts facts, const Profile& profile);

  const CodecFacts& facts() const { return facts_; }
  Bytes payload_bytes(Elements n) const;

  // Seconds that a code takes to the device that encodes, and from it; 0 if codecs run where messages are.
  double upload(Elements n) const { return upload_.empty() ? 0 : upload_.at(code_bytes(n)); }
  double download(Elements n) const { return download_.empty() ? 0 : download_.at(code_bytes(n)); }

  /// True if codecs run on a device, whose kernels serve several tasks at once.
  bool on_device() const { return !upload_.empty(); }

  // Seconds, the launch included; 0 if there is nothing to do. Of 0 elements: the part that tasks share if one batch of
  // kernels serves them.
  double encode(Elements n) const;
  double decode(Elements n) const;
  /// Adds n elements of each of `contributions`, encoded so, and encodes the sum with `to`. Curves are those of the
  /// contributions' codec, else those of `to`.
  static double merge(Elements n, std::span<const CodecCosts* const> contributions, const CodecCosts& to);
  /// The same for `count` contributions of one codec and, unless null, one of another.
  static double merge_alike(Elements n, int count, const CodecCosts& contributions, const CodecCosts* one,
                            const CodecCosts& to);

 private:
  double code_bytes(Elements n) const { return static_cast<double>(n) * facts_.traits.bits_per_element / 8; }
  /// Cost by curves: `contributions` in all, of which `own` are this rank's own.
  double merge_by(const CodecCurves& curves, Elements n, std::size_t contributions, std::size_t own) const;
  double over_memory(double bytes) const { return launch_s_ + bytes / memory_bytes_per_second_; }

  CodecFacts facts_;
  CodecCurves curves_;
  Curve upload_, download_;
  double memory_bytes_per_second_;
  double launch_s_;
};

}  // namespace casync
