// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_worker.h"

#include <fmt/core.h>

#include "runtime/transport/ucx/interface.h"
#include "runtime/transport/ucx/networks.h"
#include "runtime/transport/ucx/resources.h"
#include "runtime/transport/ucx/ucx_address.h"
#include "runtime/transport/ucx/ucx_settings.h"

namespace casync::runtime {
namespace {

Status ucx_failure(const char* what, ucs_status_t status) {
  return unavailable(
      fmt::format("UCX: {}: {}; `casync doctor` shows what UCX finds here", what, ucs_status_string(status)));
}

struct ConfigDeleter {
  void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};

}  // namespace

Result<std::unique_ptr<UcxWorker>> UcxWorker::open(const std::string& transport, const TransportOptions& options) {
  std::unique_ptr<UcxWorker> worker(new UcxWorker(transport, options.ranks));
  CASYNC_RETURN_IF_ERROR(worker->open_context(options));
  CASYNC_RETURN_IF_ERROR(worker->open_worker());
  return worker;
}

Status UcxWorker::open_context(const TransportOptions& options) {
  const Result<Interface> interface = choose_interface(options.interface_name);
  if (!interface) return interface.status();
  const Result<UcxNetworks> networks =
      choose_networks(transport_, *interface, !options.interface_name.empty(), ucx_resources());
  if (!networks) return networks.status();
  devices_write_ = networks->rdma;
  const std::vector<UcxSetting> settings = ucx_settings(*networks, *interface, options.ranks - 1, options.dead);

  ucp_config_t* config = nullptr;
  if (ucs_status_t status = ucp_config_read(nullptr, nullptr, &config); status != UCS_OK) {
    return ucx_failure("reading the UCX_* variables", status);
  }
  const std::unique_ptr<ucp_config_t, ConfigDeleter> owner(config);
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  description_ = fmt::format("{} {}.{}", transport_, major, minor);
  apply_settings(settings, config, description_);
  announced_bytes_ = bytes_in_force(settings, "RNDV_THRESH");
  announced_bytes_are_users_ = is_users(settings, "RNDV_THRESH");
  lacks_shared_memory_ = lack_shared_memory(settings);

  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = static_cast<std::size_t>(options.ranks);
  params.name = "casync";
  ucs_status_t status = ucp_init(&params, config, &context_);
  return status == UCS_OK ? Status::ok() : ucx_failure("opening networks", status);
}

Status UcxWorker::open_worker() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // one thread at a time, not always the same
  params.events =
      UCP_WAKEUP_RMA | UCP_WAKEUP_AMO | UCP_WAKEUP_TAG_SEND | UCP_WAKEUP_TAG_RECV | UCP_WAKEUP_TX | UCP_WAKEUP_RX;
  ucs_status_t status = ucp_worker_create(context_, &params, &worker_);
  if (status != UCS_OK) return ucx_failure("creating a worker", status);
  endpoints_.open(worker_);
  status = ucp_worker_get_efd(worker_, &event_fd_);
  return status == UCS_OK ? Status::ok() : ucx_failure("asking for its event descriptor", status);
}

UcxWorker::~UcxWorker() {
  if (leaked_ || endpoints_.unmet().resting()) return;
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

std::string UcxWorker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  if (ucp_worker_get_address(worker_, &address, &length) != UCS_OK) return {};
  std::string text = ucx_address_text(transport_, {reinterpret_cast<const char*>(address), length});
  ucp_worker_release_address(worker_, address);
  return text;
}

void UcxWorker::start_flush() {
  ucp_request_param_t param{};
  void* request = ucp_worker_flush_nbx(worker_, &param);
  if (UCS_PTR_IS_PTR(request)) flushing_ = request;  // UCX wants its requests back while the worker is there
}

}  // namespace casync::runtime
