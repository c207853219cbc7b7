"""What is said to a chat model, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """`text` holds no NUL and no lone surrogate; it may be empty. `complete`: the model ended it, not the limit on tokens."""

    text: str
    complete: bool = True
