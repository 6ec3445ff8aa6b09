// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_worker.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "runtime/transport/checksum.h"
#include "runtime/transport/ucx/interface.h"
#include "runtime/transport/ucx/networks.h"
#include "runtime/transport/ucx/resources.h"
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

// The same in all processes of a running system, whatever namespaces they are in.
std::string host_mark() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  std::getline(file, boot_id);
  return fmt::format("{:016x}", checksum({reinterpret_cast<const std::byte*>(boot_id.data()), boot_id.size()}));
}

// The namespace that numbers of processes belong to, "pid:[4026531836]".
std::string pid_namespace() {
  char name[64] = "";
  const ssize_t size = readlink("/proc/self/ns/pid", name, sizeof name);
  return {name, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// A process by its host's mark, its namespace and its number, with dots between.
std::string own_place() { return fmt::format("{}.{}.{}", host_mark(), pid_namespace(), getpid()); }

// An address is a line of text, "casync-ucx2 ucx:tcp <place> <checksum>\n", and UCX's own bytes.
std::string address_line(const std::string& transport, std::string_view place, std::string_view bytes) {
  const ConstView view(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  return fmt::format("casync-ucx2 {} {} {:016x}\n", transport, place, checksum(view));
}

// The place in such a line, or "".
std::string_view place_of(std::string_view line) {
  const std::size_t end = line.rfind(' ');
  if (end == std::string_view::npos) return {};
  const std::size_t begin = line.substr(0, end).rfind(' ');
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

// The number of a process that this one can look at, or 0.
int pid_at(std::string_view place) {
  const std::string neighbours = fmt::format("{}.{}.", host_mark(), pid_namespace());
  if (pid_namespace().empty() || !place.starts_with(neighbours)) return 0;
  place.remove_prefix(neighbours.size());
  int pid = 0;
  std::from_chars(place.data(), place.data() + place.size(), pid);
  return pid;
}

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
  status = ucp_worker_get_efd(worker_, &event_fd_);
  return status == UCS_OK ? Status::ok() : ucx_failure("asking for its event descriptor", status);
}

UcxWorker::~UcxWorker() {
  if (leaked_ || unmet_.resting()) return;
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

std::string UcxWorker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  if (ucp_worker_get_address(worker_, &address, &length) != UCS_OK) return {};
  const std::string_view bytes(reinterpret_cast<const char*>(address), length);
  std::string whole = address_line(transport_, own_place(), bytes);
  whole += bytes;
  ucp_worker_release_address(worker_, address);
  return whole;
}

Status UcxWorker::connect(Rank peer, const std::string& address, UcxEndpointObserver& observer) {
  const std::size_t end = address.find('\n');
  const std::string line = address.substr(0, end == std::string::npos ? 0 : end + 1);
  const std::string_view bytes = std::string_view(address).substr(line.size());
  if (line.empty() || line != address_line(transport_, place_of(line), bytes)) {
    return invalid_argument(fmt::format("rank {} has no address of the transport {}: \"{}\"", peer, transport_,
                                        line.substr(0, line.find('\n'))));
  }
  Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
  endpoint.peer = peer;
  endpoint.observer = &observer;
  endpoint.on_this_host = place_of(line).starts_with(host_mark() + ".");
  endpoint.address = bytes;
  const int pid = transport_ == "ucx:tcp" ? 0 : pid_at(place_of(line));
  if (pid > 0 && pid != getpid()) unmet_.add(peer, pid);
  return Status::ok();
}

Status UcxWorker::reach(Rank peer) {
  Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
  if (endpoint.endpoint != nullptr) return Status::ok();
  if (endpoint.address.empty()) return peer_failure(fmt::format("rank {}: disconnected", peer));
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(endpoint.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = &UcxWorker::on_error, .arg = &endpoint};
  const ucs_status_t status = ucp_ep_create(worker_, &params, &endpoint.endpoint);
  if (status == UCS_OK) {
    unmet_.meet(peer);
    return Status::ok();
  }
  endpoint.endpoint = nullptr;
  return peer_failure(fmt::format("UCX: no way to rank {} over {}: {}; `casync doctor` shows what UCX finds here", peer,
                                  transport_, ucs_status_string(status)));
}

void UcxWorker::on_error(void* endpoint, ucp_ep_h, ucs_status_t status) noexcept {
  const auto* broken = static_cast<Endpoint*>(endpoint);
  broken->observer->broken(broken->peer, status);
}

void UcxWorker::start_flush() {
  ucp_request_param_t param{};
  void* request = ucp_worker_flush_nbx(worker_, &param);
  if (UCS_PTR_IS_PTR(request)) flushing_ = request;  // UCX wants its requests back before the worker goes
}

bool UcxWorker::ended(void*& request) {
  if (request == nullptr) return true;
  if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
  ucp_request_free(std::exchange(request, nullptr));
  return true;
}

void UcxWorker::disconnect(Rank peer) {
  Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
  endpoint.address.clear();
  if (endpoint.endpoint == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* request = ucp_ep_close_nbx(std::exchange(endpoint.endpoint, nullptr), &param);
  if (UCS_PTR_IS_PTR(request)) endpoint.closing = request;
}

bool UcxWorker::disconnected() {
  bool all = ended(flushing_);
  for (Endpoint& endpoint : endpoints_) all = ended(endpoint.closing) && all;
  return all;
}

}  // namespace casync::runtime
