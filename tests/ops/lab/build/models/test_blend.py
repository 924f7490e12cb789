"""Mixed adapters compute what lies between the two."""

import pytest

torch = pytest.importorskip("torch")

from touchstone.ops.lab.build.models.blend import blended  # noqa: E402  # after the skip


def adapter(seed: int) -> dict[str, "torch.Tensor"]:
    chance = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=chance)  # noqa: E731  # as short as it is
    return {"layer.lora_A.weight": draw(4, 24), "layer.lora_B.weight": draw(16, 4), "head.weight": draw(3, 16)}


def product(weights: dict[str, "torch.Tensor"]) -> "torch.Tensor":
    return weights["layer.lora_B.weight"] @ weights["layer.lora_A.weight"]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_are_the_two_adapters(share: float) -> None:
    one, two = adapter(1), adapter(2)
    mixed = blended(one, two, share)
    assert torch.allclose(product(mixed), product(two if share else one), atol=1e-4)
    assert torch.equal(mixed["head.weight"], (two if share else one)["head.weight"])


def test_products_are_averaged_and_not_their_factors() -> None:
    one = adapter(1)
    # The same factors in another order and of another sign: the same product, whose average is itself.
    two = one | {"layer.lora_A.weight": -one["layer.lora_A.weight"].flip(0), "layer.lora_B.weight": -one["layer.lora_B.weight"].flip(1)}
    mixed = blended(one, two, 0.5)
    assert mixed["layer.lora_A.weight"].shape == one["layer.lora_A.weight"].shape
    assert torch.allclose(product(mixed), product(one), atol=1e-4)


def test_what_is_left_of_two_products_is_the_nearest_of_that_rank() -> None:
    one, two = adapter(1), adapter(2)
    whole = 0.5 * product(one) + 0.5 * product(two)
    sizes = torch.linalg.svdvals(whole)
    assert torch.linalg.norm(product(blended(one, two, 0.5)) - whole).item() == pytest.approx(sizes[4:].norm().item(), rel=1e-3)


def test_adapters_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="another shape"):
        blended(adapter(1), adapter(2) | {"head.weight": torch.zeros(2, 16)}, 0.5)
