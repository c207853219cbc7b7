"""Closed-class words and letters by language, for `providers.langid`.

An apostrophe marks a word that lost its vowel before the next ("l'", "dell'").
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS: Final[dict[str, frozenset[str]]] = {
    "en": _words(
        "the a an of and to in is are was were be been being have has had do does did can could should"
        " would will may might must i you he she it we they my your his her its our their this that these"
        " those with without for from by at on or not no if when what which who how why where there about"
        " after before during between than then as into over more most some any all take use used using"
        " cause causes mean safe"
    ),
    "es": _words(
        "el la los las un una unos unas de del y o u e en es son era fue ser está están estar ha han haber"
        " hay hace puedo puede pueden debe deben debo tomar se me te lo le les mi mis su sus este esta estos"
        " estas ese esa esto con sin para por que qué cuál cuáles cuándo cuánto cuánta cómo dónde quién si"
        " no al a como más pero entre sobre durante antes después desde hasta cada otro otra muy también"
    ),
    "fr": _words(
        "le la les l' un une des de du d' et ou en est sont était être été a ont avoir avez puis peut"
        " peuvent dois doit prendre je j' tu il elle nous vous ils on se s' me mon ma mes votre vos son sa"
        " ses leur ce cet cette ces c' qu' que qui quoi quel quelle quels quelles quand comment combien où"
        " pourquoi si ne n' non pas plus au aux avec sans pour par dans sur sous entre chez après avant"
        " pendant depuis mais comme aussi très"
    ),
    "de": _words(
        "der die das den dem des ein eine einen einem einer eines und oder in im ist sind war waren sein"
        " bin hat haben habe kann können darf dürfen soll sollte sollten muss müssen wird werden ich du er"
        " sie es wir ihr mein meine sich nicht kein keine mit ohne für von vom zu zum zur bei beim auf aus"
        " an am nach vor während zwischen über unter durch um als wenn dass ob wie was wer wann warum wo"
        " welche welcher welches auch nur noch mehr sehr"
    ),
    "it": _words(
        "il lo la i gli le l' dell' all' nell' d' un uno una di del dello della dei degli delle e o in nel"
        " nella nei nelle è sono era essere stato ha hanno ho avere può possono posso deve devono prendere"
        " si mi ti ci mio mia suo sua questo questa questi queste con senza per da dal dalla dai dalle al"
        " alla ai alle che chi cosa qual quale quali quando come dove perché quanto quanta se non più ma tra fra"
        " su sul sulla durante dopo prima anche molto"
    ),
    "pt": _words(
        "o a os as um uma uns umas de do da dos das e ou em no na nos nas é são era foi ser está estão tem"
        " têm há pode podem posso deve devem devo tomar se me meu minha seu sua este esta estes estas isso"
        " isto com sem para por pelo pela que quê qual quais quando como onde quem quanto quanta porquê não"
        " ao à aos às mais mas entre sobre durante antes depois desde até cada muito também"
    ),
    "nl": _words(
        "de het een en of in is zijn was waren ben heeft hebben heb kan kunnen mag mogen moet moeten wordt"
        " worden ik jij je u hij zij ze wij we mijn uw zich niet geen met zonder voor van te om bij op uit"
        " aan na tussen over onder door als dan dat die dit deze wat wie welke wanneer waarom waar hoe"
        " hoeveel ook maar nog meer zeer naar tijdens tegen"
    ),
}

# Letters and signs that only some of the languages write.
LETTERS: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(""),
    "es": frozenset("ñ¿¡üíóúáé"),
    "fr": frozenset("œçêâèàùîûëé"),
    "de": frozenset("ßäöü"),
    "it": frozenset("èàùìòé"),
    "pt": frozenset("ãõçêâàíóúáé"),
    "nl": frozenset("ë"),
}
