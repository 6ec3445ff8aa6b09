// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace casync::compll::test {

/// Random choices that are the same on every machine.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : engine_(seed) {}

  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(engine_() % count); }
  int between(int least, int most) {
    return least + static_cast<int>(below(static_cast<std::uint32_t>(most - least + 1)));
  }
  bool one_in(std::uint32_t count) { return below(count) == 0; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[below(static_cast<std::uint32_t>(all.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

/// The types of arithmetic. Integers of fewer than 32 bits, and trits, count as int.
enum class Kind { kFloat, kDouble, kInt, kUint, kBool };

/// A type as the language writes it.
struct TypeWord {
  std::string text;
  Kind kind = Kind::kFloat;
};

/// A name that has one value, or an expression.
struct Scalar {
  std::string text;
  Kind kind = Kind::kFloat;
};

/// An array that expressions may take elements of.
struct ArrayName {
  std::string text;
  Kind kind = Kind::kFloat;
  bool finite = false;  ///< no element is NaN
};

/// The names and functions that an expression may use.
struct Scope {
  std::vector<Scalar> scalars;
  std::vector<ArrayName> arrays;  ///< with elements to be picked
  bool draws = false;             ///< random numbers may be drawn
  std::string n = "g.size";
};

/// Writes expressions of scalars.
class Expressions {
 public:
  /// `few_doubles`: loops over tiles know few operations on doubles.
  Expressions(Choices& choices, bool few_doubles) : choices_(choices), few_doubles_(few_doubles) {}

  TypeWord any_type();
  TypeWord number_type();
  /// Returns a type that a section may have.
  TypeWord section_type();

  Scalar any(const Scope& scope, int depth);
  Scalar number(const Scope& scope, int depth);
  std::string condition(const Scope& scope, int depth);
  std::string integer(const Scope& scope, int depth);
  /// Returns a float expression that is never NaN or infinite.
  std::string tame(const Scope& scope, int depth) { return "tame(" + number(scope, depth).text + ")"; }

 private:
  Scalar leaf(const Scope& scope);
  Scalar literal();
  Scalar arithmetic(const Scope& scope, int depth);
  Scalar integers(const Scope& scope, int depth);
  Scalar function(const Scope& scope, int depth);
  Scalar prelude(const Scope& scope, int depth);
  Scalar converted(const Scope& scope, int depth);
  Scalar element(const Scope& scope, int depth);

  Choices& choices_;
  const bool few_doubles_;
};

/// The type that operands of these become.
Kind common(Kind a, Kind b);

}  // namespace casync::compll::test
