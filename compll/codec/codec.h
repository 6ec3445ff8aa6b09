// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "compll/ops/exchange_kind.h"

namespace casync::compll {

/// One parameter of a codec, as declared.
struct CodecParameter {
  std::string name;
  double initial = 0, least = 0, most = 0;
  std::string meaning;
};

/// The declaration of a codec, with its parameters filled in.
struct CodecInfo {
  std::string name;
  std::string summary;               ///< one sentence
  std::string source;                ///< publication of the algorithm
  std::uint8_t number = 0;           ///< on the wire; never reused
  std::uint8_t version = 1;          ///< of the payload layout
  std::uint64_t digest = 0;          ///< of the file it was loaded from; 0: it is part of the library
  bool identity = false;             ///< the payload is the float32 elements themselves, without a header
  bool exact_merge = false;          ///< decode-add-encode adds no error
  bool votes = false;                ///< merging counts codes: it is given the codes of all ranks, at once
  bool contractive = false;          ///< ||D(E(x)) - x||^2 <= (1 - d) ||x||^2 with d > 0: safe under feedback
  bool feedback = false;             ///< keeps a residual (parameter `feedback` 0 turns it off)
  std::uint32_t states = 0;          ///< arrays of n floats kept from step to step; the residual is the first
  std::vector<float> state_initial;  ///< initial value of each array's elements
  bool coded_terms = false;          ///< a rank contributes its code, never its raw elements: each encodes its own
  bool shared_numbers = false;       ///< all ranks draw the same random numbers, and the merging rank does, too
  bool has_result = false;           ///< result() makes the gradient from the decoded elements
  std::uint32_t rounds = 0;          ///< exchanges within one step, of a RoundsCodec (rounds_codec.h); 0 of all others
  std::vector<ExchangeKind> exchanges;  ///< of each round
  bool of_matrices = false;             ///< of rounds: made for a gradient with rows and columns; the others take any
  Elements block = 1;                   ///< elements that share statistics
  double bits_per_element = 32;         ///< on the wire for large n, scales included; of rounds, of 1024 x 1024
  std::vector<CodecParameter> parameters;
  std::vector<double> values;  ///< of `parameters`, in the same order
};

/// The state of a codec from step to step: info().states arrays of n floats read, as many written, both null if there
/// are none or they are not wanted. `out` may not overlap `in`: the caller keeps `in` until the step is committed.
struct Residual {
  const float* in = nullptr;
  float* out = nullptr;
  Elements stride = 0;  ///< from the beginning of one array to the next
};

/// The inputs of random codecs' draws, so that a result is a function of (inputs, plan, seed, step).
struct EncodeContext {
  std::uint64_t seed = 0;
  std::uint64_t gradient = 0;  ///< the gradient's key
  std::uint32_t step = 0;
  Elements first = 0;  ///< position of element 0 in the gradient
};

struct Encoded {
  Bytes size = 0;
  /// False: some input was NaN or infinite. The payload says so, decodes to NaN in the blocks concerned, and
  /// `residual.out` must not be kept.
  bool finite = true;
};

/// One term of a merge: an encoded partition (checked), or raw elements of this rank.
struct Contribution {
  ConstView code;
  const float* raw = nullptr;  ///< if not null, used instead of `code`
};

/// Encode, decode and merge of one compression algorithm with its parameters. Immutable and thread-safe: all
/// state is the caller's. Payloads have one little-endian layout on every machine (docs/payloads.md), and the
/// same input gives the same bytes whatever instructions the machine has.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual const CodecInfo& info() const = 0;

  /// Takes the memory that encode and merge keep on the calling thread: after it neither asks for any, also where the
  /// other hop's codec has been prepared for, too.
  virtual void prepare_thread() const = 0;

  /// Bytes that hold any encoding of n elements; for fixed-rate codecs exactly the size.
  virtual Bytes encoded_bound(Elements n) const = 0;

  /// p = in + residual.in; payload = E(p); residual.out = p - D(payload). One pass over memory. Large residuals whose
  /// address is a multiple of 64 are written past the caches.
  /// `payload` holds encoded_bound(n) bytes and overlaps nothing; of an identity it may be `in`.
  virtual Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                         std::byte* payload) const = 0;

  /// The same for scale * sum of decoded elements. Few codecs treat it unlike a gradient: those that put
  /// momentum or a shift on a rank's own gradient.
  virtual Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                             std::byte* payload) const = 0;

  /// Makes the gradient from the decoded result of all ranks, with states of its own; for codecs with
  /// has_result. `out` may be `decoded`.
  virtual void result(const float* decoded, Elements n, Residual state, const EncodeContext& context, float* out) const;

  /// DataLoss: these bytes are not an encoding of n elements by this codec with these parameters; says what
  /// differs. Reads nothing beyond the payload.
  virtual Status check(ConstView payload, Elements n) const = 0;

  /// out = D(payload), or out += D(payload). The payload has been checked.
  virtual void decode(ConstView payload, Elements n, float* out) const = 0;
  virtual void decode_add(ConstView payload, Elements n, float* out) const = 0;

  /// p = scale * (sum of the contributions, encoded by this codec, in their order) + residual.in; payload is
  /// E(p) by `second`, residual.out = p - D(payload). One pass where both codecs work on tiles: no float32 image of a
  /// contribution touches memory. At least one contribution. `payload` overlaps nothing, but where `second` is an
  /// identity it may be the memory of one contribution that is raw or of an identity: a sum straight into gradient
  /// memory.
  virtual Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                        Residual residual, const EncodeContext& context, std::byte* payload) const = 0;
};

/// The codec called `name` with these parameters; the others take their defaults. A name that has a slash or ends in
/// ".cll" is the path of a program, which is compiled for this machine, or found compiled (compll/load).
/// InvalidArgument: no such codec (lists those there are) or one of rounds, no such file, parameter, or value of one.
/// CompileError: what is wrong with the file. Unavailable: no C++ compiler, or no headers. Timeout: it takes too long.
Result<std::unique_ptr<Codec>> make_codec(const std::string& name,
                                          std::span<const std::pair<std::string, double>> parameters = {});

/// A digest as text: 16 hexadecimal digits.
std::string text_of_digest(std::uint64_t digest);

/// Names of the codecs that are part of the library, in the order docs/codecs.md presents them.
std::vector<std::string> codec_names();

}  // namespace casync::compll
