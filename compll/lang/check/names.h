// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "compll/lang/program.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// A type as it is declared: the number of elements of an array belongs to its value.
struct DeclaredType {
  ScalarType element;
  bool array = false;
};

/// A declared name: its meaning, and its place. A variable's value at a place of the program is
/// stored apart (Variables), because branches change it.
struct Declared {
  struct Variable {
    DeclaredType type;
    std::size_t slot = 0;  ///< its place among the values
    int level = 0;         ///< number of enclosing functions applied to elements
  };
  /// A function of the file, or one that a `lambda_func` names.
  struct Callable {
    const Function* function = nullptr;
    const Lambda* lambda = nullptr;
    std::size_t scope = 0;  ///< the scopes that its body sees: those before this one
  };
  struct ParameterName {
    ParameterId id = 0;
  };
  /// `rows` or `columns`, as `shape` calls them.
  struct DimensionName {
    Dimension dimension = Dimension::kRows;
  };
  /// The `params` of `encode(float* gradient, uint8* compressed, Params params)`.
  struct ParameterBlock {
    const ParameterList* block = nullptr;
  };
  /// The `compressed` of either function: bytes, which only `concat` and `extract` know.
  struct Bytes {};

  std::string_view name;
  Span at;
  std::variant<Variable, Callable, ParameterName, DimensionName, ParameterBlock, Bytes> what;
};

/// Names by scope. A name may hide one of an outer scope, never one of its own.
class Names {
 public:
  /// Number of scopes. `leave` goes back to so many.
  std::size_t depth() const { return ends_.size(); }
  void enter() { ends_.push_back(names_.size()); }
  void leave(std::size_t depth) {
    while (ends_.size() > depth) {
      for (; names_.size() > ends_.back(); names_.pop_back()) places_[names_.back().name].pop_back();
      ends_.pop_back();
    }
  }

  /// The name declared in the same scope, or null.
  const Declared* declared_here(std::string_view name) const {
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    const std::vector<std::size_t>& places = places_of(name);
    return places.empty() || places.back() < begin ? nullptr : &names_[places.back()];
  }
  void add(const Declared& declared) {
    places_[declared.name].push_back(names_.size());
    names_.push_back(declared);
  }

  /// Null if there is no such name. Inside of a function's body, names of the caller's scopes are not visible.
  const Declared* find(std::string_view name) const {
    const std::vector<std::size_t>& places = places_of(name);
    const auto found = std::find_if(places.rbegin(), places.rend(), [&](std::size_t i) { return is_visible(i); });
    return found == places.rend() ? nullptr : &names_[*found];
  }
  std::vector<std::string_view> all() const {
    std::vector<std::string_view> visible;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (is_visible(i)) visible.push_back(names_[i].name);
    }
    return visible;
  }

  /// Exists while a body is checked that was written in the first `scopes` scopes: those between are hidden.
  class Hidden {
   public:
    Hidden(Names& names, std::size_t scopes) : names_(names) {
      const std::size_t begin = scopes < names.ends_.size() ? names.ends_[scopes] : names.names_.size();
      names_.hidden_.push_back({begin, names.names_.size()});
    }
    ~Hidden() { names_.hidden_.pop_back(); }
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;

   private:
    Names& names_;
  };

 private:
  bool is_visible(std::size_t index) const {
    for (const auto& [begin, end] : hidden_) {
      if (index >= begin && index < end) return false;
    }
    return true;
  }

  const std::vector<std::size_t>& places_of(std::string_view name) const {
    static const std::vector<std::size_t> none;
    const auto found = places_.find(name);
    return found == places_.end() ? none : found->second;
  }

  std::deque<Declared> names_;     ///< a name stays where it is while others come and go
  std::vector<std::size_t> ends_;  ///< where each scope's names begin
  std::unordered_map<std::string_view, std::vector<std::size_t>> places_;  ///< of each name, the innermost last
  std::vector<std::pair<std::size_t, std::size_t>> hidden_;
};

}  // namespace casync::compll
