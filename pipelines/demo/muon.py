"""The optimiser that makes two minutes of training enough: Muon for the matrices inside a model.

The update of each matrix is its momentum, made nearly orthogonal by a Newton-Schulz iteration (Jordan et
al., "Muon: an optimizer for hidden layers in neural networks", 2024: quintic iteration, Nesterov
momentum). `torch.optim.Muon` iterates in bfloat16, which many CPUs only emulate; this one stays in the
matrices' own type and iterates all matrices of one shape together.
"""

from collections.abc import Sequence

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 3


class Muon:
    """Updates matrices in place; the caller sets the learning rate before each step.

    Args:
        matrices: two-dimensional parameters.
        momentum: share of the last update's direction that is kept.
    """

    def __init__(self, matrices: Sequence[torch.nn.Parameter], momentum: float = 0.95) -> None:
        self.momentum = momentum
        shapes = {parameter.shape for parameter in matrices}
        self._groups = [[p for p in matrices if p.shape == shape] for shape in sorted(shapes)]
        self._velocities = [torch.zeros(len(group), *group[0].shape) for group in self._groups]

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply one update from the gradients.

        The entries of an update have a root mean square of about 0.2 times the rate, as AdamW's have.

        Raises:
            RuntimeError: A matrix has no gradient.
        """
        for group, velocity in zip(self._groups, self._velocities, strict=True):
            gradients = torch.stack([_gradient(parameter) for parameter in group])
            velocity.lerp_(gradients, 1 - self.momentum)
            update = orthogonal(gradients.lerp_(velocity, self.momentum))
            scale = 0.2 * max(group[0].shape) ** 0.5
            for parameter, direction in zip(group, update.unbind(), strict=True):
                parameter.add_(direction, alpha=-learning_rate * scale)


def _gradient(parameter: torch.nn.Parameter) -> torch.Tensor:
    if parameter.grad is None:
        raise RuntimeError("a matrix has no gradient")
    return parameter.grad


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """Bring the singular values of each matrix near 1.

    Args:
        matrices: shape (n, rows, columns).

    Returns:
        The same shape; the large singular values between about 0.7 and 1.2.
    """
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    found: torch.Tensor = x.mT if tall else x
    return found
