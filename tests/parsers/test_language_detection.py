from __future__ import annotations

import subprocess
import sys

import pytest

from veraz.providers.langid import LinguaDetector, LocalDetector, NullDetector

QUESTIONS = [
    ("en", "can I take metformin with alcohol"),
    ("en", "What is the dose of ibuprofen?"),
    ("en", "how to store insulin"),
    ("en", "Is protein S deficiency inherited?"),
    ("es", "¿puedo tomar metformina?"),
    ("es", "dosis de ibuprofeno en niños"),
    ("es", "cómo se conserva la insulina"),
    ("fr", "puis-je prendre de la metformine"),
    ("fr", "effets secondaires de l’amoxicilline"),
    ("fr", "comment conserver l'insuline"),
    ("de", "kann ich Metformin nehmen"),
    ("de", "wie bewahre ich Insulin auf"),
    ("it", "posso prendere la metformina"),
    ("pt", "qual é a dose de ibuprofeno em crianças"),
    ("nl", "mag ik dit medicijn gebruiken als ik zwanger ben"),
    ("zh", "布洛芬的剂量是多少？"),
    ("ja", "イブプロフェンの用量は？"),
    ("ko", "이부프로펜 용량은?"),
]


@pytest.mark.parametrize(("lang", "question"), QUESTIONS)
def test_short_questions(lang: str, question: str) -> None:
    pytest.importorskip("lingua")
    assert LocalDetector().detect(question) == lang


@pytest.mark.parametrize("text", ["", "  ", "12 345", "???", "Ибупрофен доза", "metformin", "E-4021"])
def test_what_cannot_be_told_is_left_open(text: str) -> None:
    assert LocalDetector(fallback=NullDetector()).detect(text) is None


def test_without_lingua_the_function_words_still_decide() -> None:
    detector = LocalDetector(fallback=NullDetector())
    assert detector.detect("What should I do if I miss a dose?") == "en"
    assert detector.detect("metformin eGFR 40") is None


def test_lingua_alone_is_unsure_of_names() -> None:
    pytest.importorskip("lingua")
    assert LinguaDetector().detect("123") is None


def test_nothing_heavy_loads_until_it_is_needed() -> None:
    code = (
        "import sys; from veraz.providers.langid import LocalDetector; d = LocalDetector();"
        "assert d.detect('can I take this with alcohol') == 'en'; assert 'lingua' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
