// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace casync::runtime {

/// The rank's place in its machine, as far as the choice of an interface depends on it.
struct Neighbourhood {
  std::string device;  ///< PCI address of the GPU that its gradients lie on: "0000:3b:00.0"; "": none
  int local_rank = 0;
};

/// Returns the one of several interfaces that a rank uses: the nearest to its GPU in the tree of PCI buses; of those
/// that share no bus with it, one on its NUMA node. Ranks take equally near ones by turns, and without a GPU all of
/// them. An interface without a PCI device, such as a bond, is the farthest. "": there is none. `system`: the folder in
/// which the kernel shows its devices.
std::string nearest_interface(std::span<const std::string> interfaces, const Neighbourhood& rank,
                              const std::string& system = "/sys");

}  // namespace casync::runtime
