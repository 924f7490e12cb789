"""Mix two adapters of one shape: between what the first computes (share 0) and what the second does (share 1).

An adapter's update of a layer is the product of two factors, so the products are averaged and factored again to the rank they had (singular value
decomposition); averaged factors would be another product. Layers that are trained whole are averaged as they are.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from touchstone.ops.lab.command import Arguments
from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras

if TYPE_CHECKING:
    from torch import Tensor

_DOWN, _UP = "lora_A", "lora_B"


def blended(one: Mapping[str, Tensor], two: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """The weights between two adapters, in float32. Raises: ValueError if they have other layers, or layers of another shape."""
    import torch

    if one.keys() != two.keys() or any(one[name].shape != two[name].shape for name in one):
        msg = "the adapters have other layers, or layers of another shape; both must come from one base and rank"
        raise ValueError(msg)
    first, second = ({name: weight.float() for name, weight in weights.items()} for weights in (one, two))
    out = {name: torch.lerp(first[name], second[name], share) for name in first}
    for down in (name for name in first if _DOWN in name):
        up = down.replace(_DOWN, _UP)
        left = torch.cat([(1 - share) * first[up], share * second[up]], dim=1)
        right = torch.cat([first[down], second[down]])
        # The sum of two products has twice their rank at most: decompose a matrix of that size, not one of the layer's.
        q_left, r_left = torch.linalg.qr(left)
        q_right, r_right = torch.linalg.qr(right.T)
        u, sizes, vt = torch.linalg.svd(r_left @ r_right.T)
        rank = first[down].shape[0]
        root = sizes[:rank].sqrt()
        out[up], out[down] = q_left @ (u[:, :rank] * root), (root[:, None] * vt[:rank]) @ q_right.T
    return out


def main(arguments: Sequence[str]) -> None:
    """Read both, mix, write."""
    parser = Arguments("build nli-blend", __doc__)
    parser.add_argument("one", type=Path, help="folder of the first adapter")
    parser.add_argument("two", type=Path, help="folder of the second")
    parser.add_argument("--share", type=float, required=True, help="how much of the second, 0 to 1")
    parser.add_argument("--out", type=Path, required=True, help="folder to write; adapter_config.json and recipe.json are the second's")
    asked = parser.parse_args(arguments)
    if not 0 <= asked.share <= 1:
        parser.error(f"--share {asked.share}: choose a number from 0 to 1")
    try:
        import torch
        from safetensors.torch import load_file, save_file

        from touchstone.ops.lab.build.models.loop import ADAPTER_FILES
    except ModuleNotFoundError as missing:
        raise ConfigError(f"mixing needs the module {missing.name}; {install_extras('nli')}") from None
    config, weights = ADAPTER_FILES
    try:
        mixed = blended(load_file(asked.one / weights), load_file(asked.two / weights), asked.share)
        asked.out.mkdir(parents=True, exist_ok=True)
        save_file({name: weight.to(torch.float16).contiguous() for name, weight in mixed.items()}, asked.out / weights)
        shutil.copyfile(asked.two / config, asked.out / config)
        recipe = json.loads((asked.two / "recipe.json").read_text(encoding="utf-8")) | {"share_of_this_run": asked.share}
        (asked.out / "recipe.json").write_text(json.dumps(recipe, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise ConfigError(str(problem)) from None
