// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/resources.h"

#include <filesystem>
#include <string>

#include <uct/api/uct.h>

namespace casync::runtime {
namespace {

// The network interface of "mlx5_0:1", by what the kernel says of mlx5_0.
std::string interface_of(const std::string& device) {
  const std::string name = device.substr(0, device.find(':'));
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/sys/class/infiniband/" + name + "/device/net", ignored)) {
    return entry.path().filename().string();
  }
  return {};
}

// Opening one of a GPU would make a context on it.
bool is_asked(const std::string& component) {
  return component == "ib" || component.starts_with("efa") || component == "tcp" || component == "posix";
}

void add_resources_of(uct_component_h component, const char* memory_domain, std::vector<UcxResource>& found) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return;
  uct_md_h domain = nullptr;
  const ucs_status_t opened = uct_md_open(component, memory_domain, config, &domain);
  uct_config_release(config);
  if (opened != UCS_OK) return;
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &resources, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i) {
      found.push_back({resources[i].tl_name, resources[i].dev_name, interface_of(resources[i].dev_name)});
    }
    uct_release_tl_resource_list(resources);
  }
  uct_md_close(domain);
}

void add_resources_of(uct_component_h component, std::vector<UcxResource>& found) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK || attributes.md_resource_count == 0) return;
  if (!is_asked(attributes.name)) return;
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (uct_component_query(component, &attributes) != UCS_OK) return;
  for (const uct_md_resource_desc_t& domain : domains) add_resources_of(component, domain.md_name, found);
}

}  // namespace

std::vector<UcxResource> ucx_resources() {
  std::vector<UcxResource> found;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return found;
  for (unsigned i = 0; i < count; ++i) add_resources_of(components[i], found);
  uct_release_component_list(components);
  return found;
}

}  // namespace casync::runtime
