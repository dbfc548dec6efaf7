"""Chooses the parameters whose gradients are looked at. A weight that two layers share counts once."""

import re
from collections.abc import Iterable

from torch import nn

from extraction.errors import InputError


def chosen_parameters(model: nn.Module, layers: int | str) -> list[str]:
    """Names of the parameters that a setting means.

    Args:
        model: any model.
        layers: how many layers, counted from the last, or a regular expression that is found in parameters' names.

    Raises:
        InputError: the model has fewer layers, or no parameter has such a name.
    """
    return last_layers(model, layers) if isinstance(layers, int) else matching_parameters(model, layers)


def matching_parameters(model: nn.Module, pattern: str) -> list[str]:
    """Names of the parameters in whose name a regular expression is found.

    A tied weight is found by each of its names, and stands once, under its first name. Frozen ones are found too: an
    auditor differentiates what the training did not.

    Raises:
        InputError: no parameter has such a name.
    """
    found = _first_names(model, (name for name, _ in _all_parameters(model) if re.search(pattern, name)))
    if not found:
        raise InputError(f"layers: no parameter's name matches {pattern!r}; name a layer that the model has")
    return found


def last_layers(model: nn.Module, count: int) -> list[str]:
    """Names of the parameters of the last layers, in the order in which the model declares them.

    Args:
        model: any model.
        count: how many layers, at least 1.

    Raises:
        InputError: the model has fewer.
    """
    known = owners(model)
    if len(known) < count:
        raise InputError(f"layers: the model has {len(known)} layers with parameters; ask for no more")
    chosen = set(known[-count:])
    return _first_names(
        model, (name for name, _ in _all_parameters(model) if name.rpartition(".")[0] in chosen)
    )


def owners(model: nn.Module) -> list[str]:
    """Names of the modules that own parameters: what is called a layer here, in the order of declaration."""
    return [name for name, module in model.named_modules() if list(module.parameters(recurse=False))]


def _all_parameters(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return list(model.named_parameters(remove_duplicate=False))


def _first_names(model: nn.Module, names: Iterable[str]) -> list[str]:
    """The first of each parameter's names, without repetition."""
    first: dict[int, str] = {}
    by_name = dict(_all_parameters(model))
    for name, parameter in by_name.items():
        first.setdefault(id(parameter), name)
    return list(dict.fromkeys(first[id(by_name[name])] for name in names))
