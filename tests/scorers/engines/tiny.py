"""Tiny models and tokenizers made on the spot, where shapes matter and weights do not."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from tests.lazily import lazily

with lazily():
    import torch
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        BertModel,
        MPNetConfig,
        MPNetForSequenceClassification,
        MPNetModel,
        PreTrainedTokenizerFast,
        RobertaConfig,
        RobertaForSequenceClassification,
    )

SENTENCES = [
    "The patient was given 5 mg of warfarin daily.",
    "No bleeding was seen; the INR stayed at 2.3.",
    "She went home on day four, without pain.",
    "A red dog runs quickly over the wet grass!",
    "Nothing of this is true, said the nurse.",
    "Ünïcode wörds and 日本 are text, too.",
    "",
    "  spaces   around  ",
]
NAMES = ("entailment", "neutral", "contradiction")


def _fast(tokenizer: str, special: tuple[str, str, str, str] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]"), *, with_types: bool = True) -> Any:
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer),
        **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True)),
        model_max_length=96,
        model_input_names=["input_ids", *(["token_type_ids"] if with_types else []), "attention_mask"],
    )


@cache  # training is not the same twice
def _bert() -> str:
    """WordPiece: [CLS] a [SEP] b [SEP], with types."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=300, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"]))
    cls, sep = made.token_to_id("[CLS]"), made.token_to_id("[SEP]")
    made.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    # As the default weights are saved: with cutting and padding switched on.
    made.enable_truncation(12)
    made.enable_padding(length=12)
    return str(made.to_str())


def bert_tokenizer() -> Any:
    return _fast(_bert())


@cache  # training is not the same twice
def _roberta() -> str:
    """Byte-level BPE: <s> a </s></s> b </s>, without types."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    made.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=400, show_progress=False, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    )
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return str(made.to_str())


def roberta_tokenizer() -> Any:
    return _fast(_roberta(), ("<pad>", "<unk>", "<s>", "</s>"), with_types=False)


@cache  # training is not the same twice
def _deberta() -> str:
    """Unigram with word marks: [CLS] a [SEP] b [SEP], with types."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace("\n", " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    made.train_from_iterator(SENTENCES, trainers.UnigramTrainer(vocab_size=200, show_progress=False, special_tokens=special, unk_token="[UNK]"))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return str(made.to_str())


def deberta_tokenizer() -> Any:
    return _fast(_deberta())


def _sizes(tokenizer: Any, labels: tuple[str, ...]) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "pad_token_id": tokenizer.pad_token_id,
        "hidden_dropout_prob": 0.1,
        "initializer_range": 0.4,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: index for index, label in enumerate(labels)},
    }


def mpnet_config(tokenizer: Any, labels: tuple[str, ...] = NAMES) -> Any:
    """MPNet: no types, positions from behind the padding id, and distances that count in attention."""
    return MPNetConfig(max_position_embeddings=98, **_sizes(tokenizer, labels))


def classifier(kind: str, labels: tuple[str, ...] = NAMES, *, seed: int = 1) -> tuple[Any, Any]:
    """(model, tokenizer) of a family, with random weights."""
    torch.manual_seed(seed)
    if kind == "roberta":
        tokenizer = roberta_tokenizer()
        return RobertaForSequenceClassification(RobertaConfig(max_position_embeddings=98, **_sizes(tokenizer, labels))), tokenizer
    if kind == "mpnet":
        tokenizer = roberta_tokenizer()
        return MPNetForSequenceClassification(mpnet_config(tokenizer, labels)), tokenizer
    if kind == "deberta":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its module uses what torch has deprecated
            from transformers import DebertaV2Config, DebertaV2ForSequenceClassification
        tokenizer = deberta_tokenizer()
        config = DebertaV2Config(
            max_position_embeddings=96, relative_attention=True, pos_att_type=["p2c", "c2p"], type_vocab_size=2, **_sizes(tokenizer, labels)
        )
        return DebertaV2ForSequenceClassification(config), tokenizer
    tokenizer = bert_tokenizer()
    return BertForSequenceClassification(BertConfig(max_position_embeddings=96, **_sizes(tokenizer, labels))), tokenizer


def saved(folder: Path, kind: str = "bert", labels: tuple[str, ...] = NAMES, *, seed: int = 1) -> Path:
    """The same, as a folder."""
    model, tokenizer = classifier(kind, labels, seed=seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def encoder(folder: Path, kind: str = "bert") -> Path:
    """A tiny BERT or MPNet without a head, as a folder."""
    torch.manual_seed(2)
    if kind == "mpnet":
        tokenizer = roberta_tokenizer()
        MPNetModel(mpnet_config(tokenizer)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder
    tokenizer = bert_tokenizer()
    BertModel(BertConfig(max_position_embeddings=96, **_sizes(tokenizer, NAMES))).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
