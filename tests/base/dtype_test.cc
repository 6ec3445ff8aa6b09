// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <catch2/catch.hpp>

namespace casync {
namespace {

TEST_CASE("dtype: the numbers are those of the wire and of the C interface") {
  CHECK(static_cast<int>(DType::kFloat32) == 1);
  CHECK(static_cast<int>(DType::kFloat16) == 2);
  CHECK(static_cast<int>(DType::kBFloat16) == 3);
}

TEST_CASE("dtype: names and types are each other's inverse") {
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    CHECK(dtype_from(name_of(dtype)) == dtype);
  }
}

TEST_CASE("dtype: an unknown name is no type") {
  for (const char* name : {"", "float", "Float32", "float32 ", "int8", "?"}) {
    INFO("name " << name);
    CHECK(dtype_from(name) == std::nullopt);
  }
}

TEST_CASE("dtype: a number that came from outside and means nothing has no name") {
  CHECK(name_of(static_cast<DType>(0)) == "?");
  CHECK(name_of(static_cast<DType>(200)) == "?");
}

TEST_CASE("dtype: sizes in bytes") {
  CHECK(bytes_of(DType::kFloat32) == 4);
  CHECK(bytes_of(DType::kFloat16) == 2);
  CHECK(bytes_of(DType::kBFloat16) == 2);
}

}  // namespace
}  // namespace casync
