"""Abbreviations and sentence openers by language, for `sentences`. Lower case (openers as written),
without the last stop."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# After these a sentence never ends. "*" holds for every language; entries with an inner stop or space are
# written as found.
NEVER_END: Final[dict[str, frozenset[str]]] = {
    "*": _words(
        "e.g i.e cf vs v.s viz al fig figs eq eqs ref refs vol vols pp approx ca dr drs prof mr mrs ms"
        " messrs st ste rev gen col lt sgt capt rep sen gov hon sr jr sra srta dra ph.d n.b incl excl resp"
        " spp sp var subsp"
    )
    | {"et al", "p. ex", "p. ej", "z. b", "d. h", "u. a", "i. e", "e. g", "p. es", "a. c", "d. c"},
    "en": _words("ed eds dept est esp ext wt temp tel ave blvd assoc univ inst"),
    "es": _words(
        "p.ej ej págs pág núm núms aprox tfno tel avda av dª dña excmo ilmo prof ud uds vd vds vol cía"
        " lic ing admón dpto gral izda dcha"
    ),
    "fr": _words("p.ex ex env av apr chap éd fig m mm mme mlle mgr pr tél vol cf resp"),
    "de": _words(
        "z.b d.h u.a o.ä u.ä s.o s.u v.a i.d.r i.v i.m s.c z.t bzw bspw evtl ggf inkl exkl ca abb abs"
        " aufl bd bez dgl ebd etw hrsg jh kap lfd mind mio mrd o.g sog str tel tgl u vgl zzgl zz wiss stk"
        " std"
    ),
    "it": _words("p.es es artt capp dott dott.ssa sig sigg sig.ra ing avv pag pagg tel prof"),
    "pt": _words("p.ex ex dr dra sr sra prof profa pág págs tel aprox exmo av fig"),
    "nl": _words(
        "bijv bv d.w.z dwz o.a m.b.v m.n t.a.v i.p.v nl blz hfdst mevr dhr tel evt incl excl ong resp zgn"
    ),
}

# Before a number these are abbreviations; before anything else they are words, or end a sentence ("No. The
# dose …").
BEFORE_NUMBER: Final = _words("no nos nr n° nº n p art arts cap caps chap tab s máx mín max min vol m")

# These may end a sentence: only a capital (and no digit) after them says so.
MAY_END: Final = _words(
    "mg g kg mcg µg μg ml dl l cl cm mm m km kcal h hr hrs min mins sec s etc usw ecc osv enz inc ltd"
    " co corp gmbh bv sa tab tabs cap caps i.v i.m s.c p.o b.i.d t.i.d q.i.d a.m p.m iv im sc po max"
    " min máx mín jan feb mar apr jun jul aug sep sept oct nov dec ene abr ago dic janv févr avr juil"
    " déc mon tue wed thu fri sat sun dept"
)

# Words that begin sentences far more often than they continue a name or an abbreviation.
STARTERS: Final[dict[str, frozenset[str]]] = {
    "en": _words(
        "A After All Also Although An And Any As At Because Before Both But By Call Do Each Even For From"
        " He Her His How However I If In Is It Its Many May Most My No Not Of On Once One Only Or Other"
        " Our She Since So Some Such Take Talk That The Their Then There These They This Those Though To"
        " Under Until Use We What When Where Whether Which While Who Why With You Your"
    ),
    "es": _words(
        "A Al Algunas Algunos Ante Antes Aunque Con Consulte Cuando De Debe Del Desde Después Durante El"
        " Ella En Entre Es Esta Estas Este Esto Estos Informe La Las Lo Los Más Muchos No Para Pero Por"
        " Puede Pueden Se Si Sin Sobre Su Sus También Tome Tras Un Una Use Y Ya"
    ),
    "fr": _words(
        "À Afin Après Au Aucun Aucune Aux Avant Avec Ce Ces Cet Cette Chez Comme Dans De Depuis Des Du"
        " Elle Elles En Et Il Ils Je L' La Le Les Leur Lors Mais Ne Nous On Ou Par Pas Pendant Plus Pour"
        " Prenez Quand Sa Sans Selon Ses Si Son Sous Sur Tous Toute Un Une Vous"
    ),
    "de": _words(
        "Aber Alle Als Am An Auch Auf Aus Bei Beim Bevor Bis Da Dann Das Dem Den Der Des Die Dies Diese"
        " Dieser Dieses Durch Ein Eine Einem Einen Einer Er Es Falls Für Ihr Ihre Im In Informieren Ist"
        " Jede Kein Keine Manche Mit Nach Nehmen Nicht Nur Ob Oder Ohne Seit Sie Sind So Um Und Unter"
        " Viele Vom Von Vor Wann Was Wenden Wenn Wer Wie Wir Zu Zum Zur"
    ),
    "it": _words(
        "A Ai Al Alcuni Anche Che Come Con Da Dal Dalla Dei Del Della Di Dopo Durante È E Gli I Il In"
        " Informi La Le Lo Ma Nei Nel Nella Non Ogni Per Prima Può Quando Questa Questo Questi Se Si Sono"
        " Un Una Uno"
    ),
    "pt": _words(
        "A Alguns Ao Após As Até Com Como Da Das De Deve Do Dos Durante E É Ela Ele Em Esta Este Estes"
        " Foi Informe Mas Na Nas Não No Nos O Os Ou Para Pode Por Quando Se Sem Sua Tome Um Uma"
    ),
    "nl": _words(
        "Aan Als Bij Daarna Dat De Deze Die Dit Door Een Elke En Er Gebruik Geen Heeft Het Hij Hoe Ik In"
        " Indien Is Maar Met Na Naar Neem Niet Of Om Ook Op Te Tijdens Tot U Uit Uw Van Veel Vertel Voor"
        " Waarschuw Wanneer Wat We Wij Ze Zij Zijn"
    ),
}
