"""RapidOCR with the models that its package holds (PP-OCRv6 small), on onnxruntime and one processor.

It would fetch a model that is missing; so the files are named here, and one that is not there is an error. Its classifier of
upside-down lines is left out: it turned whole lines of upright text (measured in docs/reference/ocr.md); pages are turned by
`parsers/pdf/scans.py`, which looks at all lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import rapidocr

from veraz.nouns.scan import Corner, Picture, SeenLine, SeenWord
from veraz.providers.ocr import VERSION

_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
}
DETECTION_SIDE = 1600
"""Pixels of the longer side in which lines are looked for; they are read from the picture as it is. More finds no smaller print
and takes more memory."""


class RapidEngine:
    def __init__(self) -> None:
        cv2.setNumThreads(1)
        folder = Path(rapidocr.__file__).parent / "models"
        self._engine: Any = rapidocr.RapidOCR(params=_settings(folder))

    @property
    def version(self) -> str:
        return VERSION

    def read(self, picture: Picture) -> Sequence[SeenLine]:
        found = self._engine(picture)
        if found.boxes is None or not found.txts:
            return ()
        rows = zip(found.boxes, found.txts, found.scores, found.word_results, strict=True)
        return [_line(*row) for row in rows if row[1].strip()]


def _settings(folder: Path) -> dict[str, Any]:
    return {
        **{f"{part}.model_path": str(folder / name) for part, name in _MODELS.items()},
        "Global.log_level": "critical",
        "Global.use_cls": False,
        "Global.text_score": 0.0,
        "Global.return_word_box": True,
        "Global.return_single_char_box": True,
        # The caller bounds pictures, and the detector its own copy.
        "Global.max_side_len": 20_000,
        "Det.limit_type": "max",
        "Det.limit_side_len": DETECTION_SIDE,
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    }


def _line(box: Any, text: str, confidence: float, characters: Sequence[tuple[str, float, Any]]) -> SeenLine:
    """`characters` are those of the text that are no spaces, with their boxes."""
    corners = [(float(x), float(y)) for x, y in box]
    if np.hypot(*(box[3] - box[0])) >= 1.5 * np.hypot(*(box[1] - box[0])):
        corners = [corners[1], corners[2], corners[3], corners[0]]  # it was read turned, from above down
    places = [_along(corners, place) for _, _, place in characters]
    words = tuple(_words(text.split(), places))
    return SeenLine(words, (corners[0], corners[1], corners[2], corners[3]), float(confidence))


def _along(corners: Sequence[Corner], box: Any) -> tuple[float, float]:
    """Where a character begins and ends on its line, from 0 to 1."""
    origin = np.asarray(corners[0])
    run = np.asarray(corners[1]) - origin
    parts = (np.asarray(box, dtype=float) - origin) @ run / max(float(run @ run), 1.0)
    return float(np.clip(parts.min(), 0, 1)), float(np.clip(parts.max(), 0, 1))


def _words(texts: Sequence[str], places: Sequence[tuple[float, float]]) -> Iterator[SeenWord]:
    size = sum(map(len, texts))
    if size != len(places):  # characters of another kind than it counts: as if all were of one width
        whole = size + len(texts) - 1
        at = 0
        for text in texts:
            yield SeenWord(text, at / whole, (at + len(text)) / whole)
            at += len(text) + 1
        return
    at = 0
    for text in texts:
        yield SeenWord(text, places[at][0], places[at + len(text) - 1][1])
        at += len(text)
