// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/cannot_plan.h"

#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {

Status status_of(const CannotPlan& refusal, const Source& source, const std::string& how) {
  Diagnostics diagnostics(source);
  diagnostics.add(refusal.at, refusal.what + " cannot be compiled " + how);
  return unimplemented(diagnostics.status().message());
}

}  // namespace casync::compll
