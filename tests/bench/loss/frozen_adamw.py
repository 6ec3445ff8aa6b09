# SPDX-License-Identifier: Apache-2.0
"""AdamW whose second moment can be frozen.

Tang et al. 2021, 1-bit Adam: Communication Efficient Large-Scale Training with Adam's Convergence Speed. What a code of
few bits adds to a gradient is squared into the second moment and stays there; after the warm-up it is not updated.
"""

import torch


class FrozenAdamW(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas, weight_decay, eps=1e-8):
        super().__init__(parameters, dict(lr=lr, betas=betas, weight_decay=weight_decay, eps=eps))
        self.frozen = False
        self._steps = self._steps_of_second = 0

    @torch.no_grad()
    def step(self):
        self._steps += 1
        self._steps_of_second += not self.frozen
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            gradients = [p.grad for p in parameters]
            first = [self._state(p, "first") for p in parameters]
            second = [self._state(p, "second") for p in parameters]
            beta1, beta2 = group["betas"]
            torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_lerp_(first, gradients, 1 - beta1)
            if not self.frozen:
                torch._foreach_mul_(second, beta2)
                torch._foreach_addcmul_(second, gradients, gradients, 1 - beta2)
            root = torch._foreach_sqrt(second)
            torch._foreach_div_(root, (1 - beta2**self._steps_of_second) ** 0.5)
            torch._foreach_add_(root, group["eps"])
            torch._foreach_addcdiv_(parameters, first, root, -group["lr"] / (1 - beta1**self._steps))

    def _state(self, parameter, name):
        state = self.state[parameter]
        if name not in state:
            state[name] = torch.zeros_like(parameter)
        return state[name]
