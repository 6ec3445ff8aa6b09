// SPDX-License-Identifier: Apache-2.0
// The definitions of fmt 9, which Debian has as a shared library only. Each file that formats would else compile them
// again, for three seconds. The list is that of fmt 9's src/format.cc, for char.
#include <fmt/format-inl.h>

namespace fmt::detail {

template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale& locale);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);

}  // namespace fmt::detail
