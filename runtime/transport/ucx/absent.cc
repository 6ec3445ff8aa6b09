// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/factory.h"

namespace casync::runtime {

Result<std::unique_ptr<Transport>> make_ucx(const std::string& name, const TransportOptions&) {
  return unimplemented("transport " + name +
                       ": built without UCX (CASYNC_WITH_UCX=OFF); install UCX 1.22 (tools/setup does) and build "
                       "again with -DCASYNC_WITH_UCX=ON");
}

}  // namespace casync::runtime
