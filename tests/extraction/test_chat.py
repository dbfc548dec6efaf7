"""Chat templates: messages tokenised between the nearest special tokens come out as the whole text does."""

from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken

from extraction.chat import Chat
from extraction.errors import InputError
from extraction.families import PublicFamily
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, sentencepiece_tokenizer

MESSAGES = [
    *SENTENCES,
    "",
    " ",
    "  two blanks first, and a line end last\n",
    "<s>a special token</s> in a message<|end|>",
    "naïve “quotes” and 数字 12",
]
TEMPLATES = {
    "chatml": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "touching": "<s>{% for m in messages %}<|im_start|>{{ m.content }}<|end|>{% endfor %}answer:",
    "nothing special": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:",
    "before alone": "<s>{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant] ",
    "behind alone": "{% for m in messages %}{{ m.content }}<|end|> {% endfor %}",
    "blanks around": "{% for m in messages %} <|im_start|> {{ m.content }} <|end|> {% endfor %}",
}


def tokenizer_with(make: Any, folder: Path, template: str, strips: bool) -> Any:
    tokenizer = make(folder)
    added = [AddedToken(t, special=True, lstrip=strips, rstrip=strips) for t in ("<|im_start|>", "<|end|>")]
    tokenizer.add_special_tokens({"additional_special_tokens": added})
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("make", [byte_level_tokenizer, sentencepiece_tokenizer])
@pytest.mark.parametrize("strips", [False, True])
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_message_is_tokenised_as_the_whole_chat_is(
    make: Any, strips: bool, template: str, tmp_path: Path
) -> None:
    tokenizer = tokenizer_with(make, tmp_path, template, strips)
    family = PublicFamily(share=1, chat=True, system="Be brief.")
    for message, ids in zip(MESSAGES, Chat(tokenizer, "x", family).encode(MESSAGES).to_pylist(), strict=True):
        chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": message}]
        whole = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        assert ids == whole


def test_no_message_gives_no_row(tmp_path: Path) -> None:
    assert len(Chat(byte_level_tokenizer(tmp_path), "x", PublicFamily(share=1, chat=True)).encode([])) == 0


def test_a_template_that_leaves_the_message_out_is_refused(tmp_path: Path) -> None:
    tokenizer = tokenizer_with(byte_level_tokenizer, tmp_path, "<s>assistant:", False)
    with pytest.raises(InputError, match=r"prompts.families.x.chat: the chat template does not write"):
        Chat(tokenizer, "x", PublicFamily(share=1, chat=True))
