// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/kernel_text.h"

#include <catch2/catch.hpp>

#include "compll/codec/none.h"
#include "compll/cuda/built_in_text.h"

namespace casync::runtime {
namespace {

std::string text_of_codec(const std::string& name, std::vector<std::pair<std::string, double>> parameters) {
  const auto codec = compll::make_codec(name, parameters);
  REQUIRE(codec.status().text() == "OK");
  const auto text = kernel_text(name, (*codec)->info());
  REQUIRE(text.status().text() == "OK");
  return text_of(*text);
}

}  // namespace

TEST_CASE("kernel text: parameters that are read when kernels run do not change it") {
  const std::string text = text_of_codec("int4", {});
  CHECK(text == text_of(*compll::built_in_text("int4")));
  CHECK(text_of_codec("int4", {{"block", 64.0}}) == text);
  CHECK(text_of_codec("none", {}) == text_of(*compll::built_in_text("sum")));
}

TEST_CASE("kernel text: the identity whose merge takes the greatest has kernels of its own") {
  const auto text = kernel_text("none", compll::make_greatest()->info());
  REQUIRE(text.status().text() == "OK");
  CHECK(text_of(*text) == text_of(*compll::built_in_text("greatest")));
  CHECK(text_of(*text) != text_of_codec("none", {}));
}

TEST_CASE("kernel text: parameters that types are made of are part of it") {
  const std::string four = text_of_codec("minmax", {}), two = text_of_codec("minmax", {{"bits", 2.0}});
  CHECK(four == text_of(*compll::built_in_text("minmax")));
  CHECK(four.find("load_quad<4>") != std::string::npos);
  CHECK(two.find("load_quad<2>") != std::string::npos);
  CHECK(two.find("load_quad<4>") == std::string::npos);
}

}  // namespace casync::runtime
