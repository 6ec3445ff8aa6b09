// SPDX-License-Identifier: Apache-2.0
//
// A program as it was written: what the parser makes and the checker reads. Nothing here has a meaning yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compll/lang/source.h"

namespace casync::compll {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
struct Statement;
using StatementPtr = std::unique_ptr<Statement>;
using Block = std::vector<StatementPtr>;

/// A word of the program where it stands.
struct Word {
  std::string_view text;
  Span at;
};

/// `float`, `uint4`, `uint<bits>`, with `*` an array of them.
struct TypeName {
  Word name;
  ExpressionPtr width;  ///< of `uint<width>`, else null
  bool array = false;
  Span at;
};

/// `float x`; of a function or a declaration.
struct Variable {
  TypeName type;
  Word name;
};

// Expressions.

struct Number {
  double value = 0;
  bool is_real = false;
  float real = 0;  ///< of a real: the float that is nearest to the written number, which `value` need not round to
};
struct Name {
  std::string_view text;
};
struct Unary {
  std::string_view sign;  ///< - ! ~
  ExpressionPtr operand;
};
struct Binary {
  std::string_view sign;  ///< of C
  Span sign_at;
  ExpressionPtr left, right;
};
struct Conditional {
  ExpressionPtr condition, yes, no;
};
/// A function, an operator or a conversion: `map(x, f)`, `random<float>(0, 1)`, `uint8(x)`, `uint<bits>(x)` and
/// `(uint8) x`.
struct Call {
  Word callee;
  std::unique_ptr<TypeName> type;  ///< of `random<float>`, `uint<bits>(x)` and `(uint8) x`, else null
  std::vector<ExpressionPtr> arguments;
};
struct Index {
  ExpressionPtr array, index;
};
/// `gradient.size`, `params.block`.
struct Member {
  ExpressionPtr of;
  Word name;
};
/// `(a, b)`: what a function of several results returns.
struct Tuple {
  std::vector<ExpressionPtr> parts;
};
/// `[&](float a, float b) -> float { return a + b; }`; several results: `-> (float, uint1)`.
struct Lambda {
  std::vector<Variable> parameters;
  std::vector<TypeName> results;
  Block body;
};

struct Expression {
  Span at;
  std::variant<Number, Name, Unary, Binary, Conditional, Call, Index, Member, Tuple, Lambda> node;
};

// Statements.

/// `float x = 1;`, `float* a, b;`, `(float* a, uint1* b) = map(...);`
struct Declare {
  std::vector<Variable> variables;
  ExpressionPtr value;  ///< null where there is none
};
/// `x = 1;`, `x += 1;`
struct Assign {
  Word name;
  std::string_view sign;  ///< = += -= *= /= %= &= |= ^= <<= >>=
  ExpressionPtr value;
};
struct If {
  ExpressionPtr condition;
  Block yes, no;
};
/// `repeat (8) { ... }`: so many times, a constant.
struct Repeat {
  ExpressionPtr times;
  Block body;
};
struct Return {
  ExpressionPtr value;  ///< null in a function without a result
};
/// `extract(compressed, a, b);`
struct Evaluate {
  ExpressionPtr value;
};

struct Statement {
  Span at;
  std::variant<Declare, Assign, If, Repeat, Return, Evaluate> node;
};

// A file.

/// `summary "one sentence";`, `class contractive;` in `codec NAME { ... }`.
struct Property {
  Word name;
  std::string_view value;  ///< a text, a word or a number as written; "" where there is none
  Span value_at;
  Word second;  ///< of `shape rows columns;`, else ""
};

/// `uint block = 128 in 16..65536 step 16 "what it is";` or `uint bits = 4 in {2, 4, 8} "...";`
struct Parameter {
  Variable variable;
  ExpressionPtr initial;               ///< null: none is given
  ExpressionPtr least, most, step;     ///< null: not said
  std::vector<ExpressionPtr> choices;  ///< of `in {...}`
  std::string_view meaning;
};

struct ParameterList {
  Word name;  ///< "" where the block has none
  std::vector<Parameter> list;
  Span at;
  Span whole;
};

/// `state float* residual;` or `state float right[rank * columns];`: kept between steps.
struct State {
  Variable variable;
  ExpressionPtr size;     ///< null: as many as the gradient has
  ExpressionPtr initial;  ///< null: zeros
  Span at;
};

struct Function {
  std::vector<TypeName> results;  ///< one, or several in parentheses; `void` is one
  Word name;
  std::vector<Variable> parameters;
  Block body;
  Span at;     ///< of its first line
  Span whole;  ///< with its body
};

/// A program, whose words point into its source.
struct Tree {
  Word codec;  ///< "" where there is no `codec` block
  std::vector<Property> properties;
  std::vector<ParameterList> parameters;
  std::vector<State> states;
  std::vector<Statement> globals;  ///< Declare only
  std::vector<Function> functions;
};

/// The tree as indented text: what `compllc --emit=tree` prints.
std::string text_of(const Tree& tree);

}  // namespace casync::compll
