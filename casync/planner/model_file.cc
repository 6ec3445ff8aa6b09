// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/model_file.h"

#include "casync/planner/plan_library.h"
#include "casync/planner/plan_module.h"

namespace casync {

Result<Training> read_model_file(const std::string& path) {
  return read_through_library<Training>(kModelReader, "model file", path);
}

Result<std::string> text_of_model(const Training& training) {
  return write_through_library(kModelWriter, "model file", training);
}

}  // namespace casync
