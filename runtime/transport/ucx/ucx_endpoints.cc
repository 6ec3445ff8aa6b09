// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_endpoints.h"

#include <unistd.h>

#include <utility>

#include <fmt/core.h>

#include "runtime/transport/ucx/ucx_address.h"

namespace casync::runtime {

bool ucx_request_ended(void*& request) {
  if (request == nullptr) return true;
  if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
  ucp_request_free(std::exchange(request, nullptr));
  return true;
}

Status UcxEndpoints::connect(Rank peer, const std::string& address, UcxEndpointObserver& observer) {
  const Result<UcxAddress> read = read_ucx_address(transport_, address);
  if (!read) return invalid_argument(fmt::format("rank {} has {}", peer, read.status().message()));
  Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
  endpoint.peer = peer;
  endpoint.observer = &observer;
  endpoint.on_this_host = read->on_this_host();
  endpoint.address = read->bytes;
  const int pid = transport_ == "ucx:tcp" ? 0 : read->pid();
  if (pid > 0 && pid != getpid()) unmet_.add(peer, pid);
  return Status::ok();
}

Status UcxEndpoints::reach(Rank peer) {
  Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
  if (endpoint.endpoint != nullptr) return Status::ok();
  if (endpoint.address.empty()) return peer_failure(fmt::format("rank {}: disconnected", peer));
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(endpoint.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = &UcxEndpoints::on_error, .arg = &endpoint};
  const ucs_status_t status = ucp_ep_create(worker_, &params, &endpoint.endpoint);
  if (status == UCS_OK) {
    unmet_.meet(peer);
    return Status::ok();
  }
  endpoint.endpoint = nullptr;
  return peer_failure(fmt::format("UCX: no way to rank {} over {}: {}; `casync doctor` shows what UCX finds here", peer,
                                  transport_, ucs_status_string(status)));
}

void UcxEndpoints::on_error(void* endpoint, ucp_ep_h, ucs_status_t status) noexcept {
  const auto* broken = static_cast<Endpoint*>(endpoint);
  broken->observer->broken(broken->peer, status);
}

void UcxEndpoints::disconnect(Rank peer) {
  Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
  endpoint.address.clear();
  if (endpoint.endpoint == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* request = ucp_ep_close_nbx(std::exchange(endpoint.endpoint, nullptr), &param);
  if (UCS_PTR_IS_PTR(request)) endpoint.closing = request;
}

bool UcxEndpoints::disconnected() {
  bool all = true;
  for (Endpoint& endpoint : endpoints_) all = ucx_request_ended(endpoint.closing) && all;
  return all;
}

bool UcxEndpoints::has_ended(Rank peer) {
  Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
  return endpoint.endpoint == nullptr && ucx_request_ended(endpoint.closing);
}

}  // namespace casync::runtime
