// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/rendezvous/store.h"

#include <algorithm>

namespace casync::runtime {
namespace {

class CallbackStore final : public Store {
 public:
  explicit CallbackStore(StoreFunctions functions) : functions_(std::move(functions)) {}

  Status set(const std::string& key, const std::string& value) override { return functions_.set(key, value); }

  Result<std::string> get(const std::string& key, Clock::time_point deadline) override {
    const Seconds left = deadline - Clock::now();
    return functions_.get(key, std::max(left.count(), 0.0));
  }

 private:
  StoreFunctions functions_;
};

}  // namespace

std::unique_ptr<Store> make_callback_store(StoreFunctions functions) {
  return std::make_unique<CallbackStore>(std::move(functions));
}

}  // namespace casync::runtime
