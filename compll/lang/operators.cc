// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/operators.h"

namespace casync::compll {
namespace {

constexpr auto kCalledWords = std::to_array<std::string_view>({
#define COMPLL_FUNCTION(word, ...) #word,
#define COMPLL_CALL(word, ...) #word,
#define COMPLL_WORD(word) #word,
#include "compll/lang/operators.def"
});

}  // namespace

std::span<const std::string_view> called_words() { return kCalledWords; }

}  // namespace casync::compll
