// SPDX-License-Identifier: Apache-2.0
//
// The interface of text that is generated from a program and compiled: plain functions on tiles of a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/units.h"
#include "compll/ops/random.h"
#include "compll/ops/scaled.h"
#include "compll/ops/sizes.h"

namespace casync::compll {

/// Changes with anything in this file: text compiled for another version is refused.
inline constexpr std::uint32_t kGeneratedVersion = 16;
/// The most sections a payload has.
inline constexpr std::size_t kMostSections = 16;
/// The most arrays a codec keeps.
inline constexpr std::size_t kMostStates = 8;
/// The most values a parameter is chosen from.
inline constexpr std::size_t kMostChoices = 16;
/// The most parameters a codec has.
inline constexpr std::size_t kMostParameters = 16;
/// The most bytes that a pass hands to the next one.
inline constexpr std::size_t kMostTensorBytes = 16384;

/// The arrays that a program keeps: each has n floats and begins `stride` floats after the previous one. `in` null:
/// they have their initial values; `out` null: the caller does not want them. The two do not overlap.
struct GeneratedStates {
  const float* in = nullptr;
  float* out = nullptr;
  Elements stride = 0;
};

/// The tile that generated functions work on. Sections and states point to the tile's own part.
struct GeneratedTile {
  const double* parameters = nullptr;
  Elements n = 0;      ///< of the tensor
  Elements first = 0;  ///< of the tile; a multiple of the block, of 16 and of the size of transforms
  Elements count = 0;
  RandomStream random;
  GeneratedStates states;
};

/// Memory for arrays between two loops over a whole vector: aligned to 64 bytes, not set to zero. Its owner frees all
/// of it at once.
class Workspace {
 public:
  virtual std::byte* take(std::size_t bytes) = 0;

 protected:
  ~Workspace() = default;
};

inline constexpr Elements kAllListed = std::numeric_limits<Elements>::max();

/// The vector that generated functions work on.
struct GeneratedVector {
  const double* parameters = nullptr;
  Elements n = 0;  ///< not 0
  RandomStream random;
  Workspace* memory = nullptr;
  Elements rows = 0, columns = 0;  ///< of a codec that exchanges: n is their product, and may be 0

  /// Null: an encoder stores all entries of a section. Else it may store fewer of one of Over::kSized, and sets
  /// stored[section] to their number: all entries behind the last of them equal that one.
  Elements* stored = nullptr;
  /// The most entries that decode and list read of GeneratedVectorForm::list_sections.
  Elements most_listed = kAllListed;
};

/// The way in which decoded floats are written to memory.
enum class Give : std::uint8_t { kSet, kAdd, kSubtract };

/// A vector that is zero except for `values` at `places`. Both arrays are in the workspace.
struct ListedVector {
  const std::uint32_t* places = nullptr;
  const float* values = nullptr;
  Elements count = 0;
};

/// The functions of a program in vector form, which needs all elements at once.
struct GeneratedVectorForm {
  /// Returns the number of elements of a section of Over::kSized.
  Elements (*sized)(std::uint32_t section, const GeneratedVector& vector);
  /// Returns false if a value of `source` is infinite or NaN. Stores the vector that `source` describes in `sum`, which
  /// is null if that is source.values.
  bool (*encode)(const GeneratedVector& vector, const Scaled& source, float* sum, const GeneratedStates& states,
                 std::byte* const* sections);
  /// Encodes a sum of decoded vectors; null if encode does it.
  bool (*merge)(const GeneratedVector& vector, const Scaled& source, float* sum, const GeneratedStates& states,
                std::byte* const* sections);
  void (*decode)(const GeneratedVector& vector, const std::byte* const* sections, float* out, Give how);
  /// Returns the result of decode as a list; null if it is no list. Places are the payload's, in any order.
  ListedVector (*list)(const GeneratedVector& vector, const std::byte* const* sections);
  /// Null if the decoded vector is the gradient. `out` may be `decoded`.
  void (*result)(const GeneratedVector& vector, const float* decoded, const GeneratedStates& states, float* out);
  /// A bit for each section of Over::kSized that holds the places or the values of decode's list and nothing else. No
  /// place occurs twice, so entries behind the last place of the gradient change nothing: decode and list read the
  /// first GeneratedVector::most_listed of them only. 0: they read all entries.
  std::uint32_t list_sections;
};

/// A section of the payload.
struct GeneratedSection {
  enum class Over : std::uint8_t { kTensor, kBlock, kElement, kSized };
  Over over = Over::kElement;
  std::uint8_t bits = 0;
};

/// A parameter as its program declares it.
struct GeneratedParameter {
  const char* name = "";
  const char* meaning = "";
  double initial = 0, least = 0, most = 0;
  double step = 0;     ///< values are whole multiples of it above `least`; 0: any
  bool whole = false;  ///< values are whole numbers
  std::uint32_t choice_count = 0;
  double choices[kMostChoices] = {};  ///< values are one of these, if there are any
};

/// A program's declarations of its codec.
struct GeneratedDeclaration {
  const char* name = "";
  const char* summary = "";
  const char* source = "";
  std::uint8_t number = 0, version = 1;
  bool contractive = false, unbiased = false, feedback = false;
  bool feedback_offered = false;  ///< it keeps a residual only if asked to
  bool shared_numbers = false;    ///< see CodecInfo
  bool votes = false, exact_merge = false;
  std::uint32_t state_count = 0;          ///< arrays of its own that it keeps from step to step
  float state_initial[kMostStates] = {};  ///< the initial value of their elements
  std::uint32_t block = 0;                ///< elements that share statistics; 0: see block_parameter
  std::int32_t block_parameter = -1;      ///< the parameter with that number; -1: there are no blocks, or see `block`
  std::uint32_t parameter_count = 0;
  GeneratedParameter parameters[kMostParameters];
};

/// One turn of a step (Turn in codec/rounds_codec.h). No pointer that it needs is null.
struct GeneratedTurn {
  const float* gradient = nullptr;
  float* const* exchanged = nullptr;
  const float* states_in = nullptr;
  float* states_out = nullptr;
  float* scratch = nullptr;
  float* out = nullptr;
};

/// Arguments of GeneratedRounds::sized in addition to the numbers of exchanges.
inline constexpr std::uint32_t kStateFloats = 1000, kScratchFloats = 1001;

/// Floats of scratch memory that `count` elements take; the next array begins on a line of the cache.
template <class T>
constexpr Elements scratch_floats(Elements count) {
  return (count * sizeof(T) + 63) / 64 * 16;
}

/// The functions of a program that exchanges within a step.
struct GeneratedRounds {
  std::uint32_t count = 0;  ///< exchanges; 0: the program has none
  /// Floats of an exchange, of the states or of the scratch memory; other numbers by the arguments of exchange_kind.h.
  Elements (*sized)(std::uint32_t what, const GeneratedVector& vector) = nullptr;
  void (*turn)(std::uint32_t number, const GeneratedVector& vector, const GeneratedTurn& turn) = nullptr;
};

/// The functions that encode a vector, or a sum of decoded vectors.
struct GeneratedEncoder {
  std::uint32_t passes = 1;
  std::uint32_t passes_without_kept = 1;  ///< the others have nothing to do if nothing is kept
  std::uint32_t rotated_arrays = 0;       ///< arrays after the tile in `scratch`, each as large: results of transforms

  /// Computes the values with one entry for the tensor: called ahead of pass 0, 1, ..., and after the last one.
  /// `tensor` is 64-byte aligned memory of kMostTensorBytes, for this encoding alone.
  void (*begin_pass)(std::uint32_t pass, const GeneratedTile& all, std::byte* tensor, std::byte* const* sections);
  /// Runs one pass over a tile. Returns false if an element is infinite or NaN. `scratch` holds the tile, which may be
  /// source.values, and rotated_arrays after it; `residual` is null if the caller wants none.
  bool (*tile)(std::uint32_t pass, const GeneratedTile& tile, std::byte* tensor, const Scaled& source, float* scratch,
               std::byte* const* sections, float* residual, Write mode);
};

struct GeneratedCodec {
  std::uint32_t version = kGeneratedVersion;
  GeneratedDeclaration declares;
  std::uint32_t section_count = 0;
  GeneratedSection sections[kMostSections];

  GeneratedEncoder encode;
  GeneratedEncoder merge;  ///< encodes a sum of decoded vectors; its functions are null if encode does it
  /// out = the sum of so many payloads' tiles in their order, or out += each. `sections` has section_count pointers for
  /// each payload.
  void (*decode_tile)(const GeneratedTile& tile, const std::byte* const* sections, std::size_t payloads, float* out,
                      Write mode);
  /// Computes the gradient from the decoded vector; null if the two are the same. `out` may be `decoded`.
  void (*result_tile)(const GeneratedTile& tile, const float* decoded, float* out, Write mode);

  /// Replaces the functions above if these are null.
  GeneratedVectorForm vector_form;
  /// Replaces all of them if it has an exchange.
  GeneratedRounds rounds{};

  /// Payloads have one bit for each element, and can be merged by these (codec/merge_bits.h).
  bool merges_bits = false;
};

}  // namespace casync::compll
