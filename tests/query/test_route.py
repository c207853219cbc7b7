"""Who is sent to the emergency number, and who gets an answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from veraz.errors import ConfigError
from veraz.query.route import builtin_rules, fold, load_rules, route

ROUTED = [
    # chest pain, heart attack
    ("My father has crushing chest pain and can't breathe", "chest-pain"),
    ("my father has crushing chest pain and can’t breathe", "chest-pain"),
    ("MY HUSBAND HAS CHEST PAIN AND SHORTNESS OF BREATH", "chest-pain"),
    ("I have chst pain and I cant breath", "chest-pain"),
    ("I'm sweating and there is a pressure in my chest going down my left arm", "chest-pain"),
    ("What should I do? My mother has severe chest pain", "chest-pain"),
    ("I think I'm having a heart attack", "chest-pain"),
    ("is my dad having a heart attack? his chest hurts and he is sweating", "chest-pain"),
    ("chest pain, shortness of breath", "chest-pain"),
    ("I had a heart attack last year and I'm having chest pain and can't breathe", "chest-pain"),
    ("no fever but my chest hurts and I am short of breath", "chest-pain"),
    ("me duele mucho el pecho y no puedo respirar", "chest-pain"),
    ("A mi padre le duele el pecho y le falta el aire", "chest-pain"),
    ("mi marido tiene un dolor de pecho muy fuerte", "chest-pain"),
    ("Creo que le está dando un infarto a mi madre", "chest-pain"),
    ("J'ai mal à la poitrine et je n'arrive pas à respirer", "chest-pain"),
    ("Mon père a une douleur violente dans la poitrine", "chest-pain"),
    # breathing
    ("My son can't breathe, his lips are blue", "cannot-breathe"),
    ("she is choking on a grape", "cannot-breathe"),
    ("My daughter is having a severe asthma attack and the inhaler is not helping", "cannot-breathe"),
    ("Mi hijo se está ahogando", "cannot-breathe"),
    ("Mon bébé s'étouffe", "cannot-breathe"),
    # stroke
    ("My wife's face is drooping on one side", "stroke-signs"),
    ("his speech is slurred and he cannot lift his arm", "stroke-signs"),
    ("I think my grandmother is having a stroke", "stroke-signs"),
    ("He had a stroke in 2010 and now his face is drooping", "stroke-signs"),
    ("suddenly my right arm went numb", "stroke-signs"),
    ("my mom's mouth is droopng and her speach is slurred", "stroke-signs"),
    ("A mi abuela se le ha torcido la boca", "stroke-signs"),
    ("a mi padre le esta dando un ictus", "stroke-signs"),
    ("Mon mari ne peut plus parler, c'est arrivé tout à coup", "stroke-signs"),
    ("je crois que ma mère fait un AVC", "stroke-signs"),
    # anaphylaxis
    ("I was stung by a bee and my lips are swelling", "anaphylaxis"),
    ("my throat is closing up after eating peanuts", "anaphylaxis"),
    ("He is going into anaphylactic shock", "anaphylaxis"),
    ("se me está hinchando la lengua", "anaphylaxis"),
    ("J'ai été piqué par une guêpe et ma gorge gonfle", "anaphylaxis"),
    # poisoning, overdose
    ("I took 30 paracetamol tablets", "overdose-or-poisoning"),
    ("I took 30 paracetmol tablets an hour ago", "overdose-or-poisoning"),
    ("um i took 25 iron pills what do i do this was last night", "overdose-or-poisoning"),
    ("My daughter swallowed a button battery", "overdose-or-poisoning"),
    ("my toddler drank bleach", "overdose-or-poisoning"),
    ("What should I do if my child swallowed bleach?", "overdose-or-poisoning"),
    ("I think I took too much insulin", "overdose-or-poisoning"),
    ("I just took a bottle of pills", "overdose-or-poisoning"),
    ("my friend has overdosed", "overdose-or-poisoning"),
    ("She took a whole bottle of sleeping pills", "overdose-or-poisoning"),
    ("Someone took 40 tablets of ibuprofen at the party", "overdose-or-poisoning"),
    ("me he tomado 20 pastillas de paracetamol", "overdose-or-poisoning"),
    ("mi hijo ha bebido lejía", "overdose-or-poisoning"),
    ("J'ai pris trente comprimés de doliprane", "overdose-or-poisoning"),
    ("Mon fils a avalé une pile bouton", "overdose-or-poisoning"),
    ("What to do for iron overdose?", "poisoning-what-to-do"),
    ("¿Qué hacer en caso de sobredosis?", "poisoning-what-to-do"),
    ("Que faire en cas d'intoxication ?", "poisoning-what-to-do"),
    # suicide
    ("I want to kill myself", "suicidal-intent"),
    ("I dont want to live anymore", "suicidal-intent"),
    ("My brother says he wants to die", "suicidal-intent"),
    ("How many paracetamol does it take to die?", "means-to-die"),
    ("I'm having suicidal thoughts", "suicidal-intent"),
    ("I don't see a reason to live", "suicidal-intent"),
    ("me quiero suicidar", "suicidal-intent"),
    ("quiero morirme", "suicidal-intent"),
    ("no quiero seguir viviendo", "suicidal-intent"),
    ("je veux mourir", "suicidal-intent"),
    ("J’ai des idées suicidaires", "suicidal-intent"),
    # bleeding
    ("The bleeding won't stop, I cut my arm", "severe-bleeding"),
    ("he is bleeding heavily from his leg", "severe-bleeding"),
    ("my father is vomiting blood", "severe-bleeding"),
    ("mi hermano no para de sangrar", "severe-bleeding"),
    ("Ma fille saigne beaucoup, ça ne s'arrête pas", "severe-bleeding"),
    # unconscious
    ("my grandfather is unconscious", "unconscious-or-not-breathing"),
    ("My baby is not breathing", "unconscious-or-not-breathing"),
    ("I can't wake my husband up", "unconscious-or-not-breathing"),
    ("there is a man lying unconcious on the street", "unconscious-or-not-breathing"),
    ("My father isn't breathing!!", "unconscious-or-not-breathing"),
    ("mi padre está inconsciente", "unconscious-or-not-breathing"),
    ("Mi bebé no respira", "unconscious-or-not-breathing"),
    ("ma mère a perdu connaissance", "unconscious-or-not-breathing"),
    ("il ne respire plus", "unconscious-or-not-breathing"),
    # young infants
    ("My 6 week old baby has a fever of 38.5", "young-infant-with-fever"),
    ("my newborn has a temperature of 39", "young-infant-with-fever"),
    ("My 2 month old has a fever, what can I give?", "young-infant-with-fever"),
    ("mi bebé de dos meses tiene fiebre", "young-infant-with-fever"),
    ("Mon bébé de 3 semaines a de la fièvre", "young-infant-with-fever"),
    # meningitis
    ("My son has a rash that doesn't fade when I press a glass on it", "meningitis-signs"),
    ("my daughter has a fever and a stiff neck", "meningitis-signs"),
    ("mi hija tiene fiebre y rigidez de nuca", "meningitis-signs"),
    ("Mon fils a de la fièvre et la nuque raide", "meningitis-signs"),
    # seizures
    ("My son is having a seizure", "seizure-now"),
    ("she has been seizing for 10 minutes", "seizure-now"),
    ("mi hijo está convulsionando", "seizure-now"),
    ("Ma fille fait des convulsions", "seizure-now"),
]

ORDINARY = [
    # topics
    "What are the symptoms of a heart attack?",
    "How is stroke treated?",
    "Can hantavirus lead to death?",
    "Can an abscessed tooth cause a heart attack?",
    "What is ischemic stroke and how is it diagnosed?",
    "What causes chest pain and shortness of breath?",
    "Can anxiety cause chest pain and difficulty breathing?",
    "Are chest pain and breathlessness signs of a heart attack?",
    "symptoms of stroke: face drooping, slurred speech",
    "Chest pain and shortness of breath causes",
    "chest pain treatment guidelines",
    "Why does the face droop in a stroke?",
    "What is anaphylaxis?",
    "How do I use an adrenaline pen?",
    "Which foods cause anaphylactic shock?",
    "What is the maximum dose of paracetamol?",
    "What happens in the liver after a paracetamol overdose?",
    "How is paracetamol overdose treated in hospital?",
    "Is suicide hereditary?",
    "Which antidepressants raise the risk of suicidal thoughts in young people?",
    "What are the statistics on suicide among farmers?",
    "How is heavy bleeding after birth treated?",
    "What is the glass test for meningitis?",
    "What rash does meningitis cause?",
    "Why do newborns get fever?",
    "At what temperature does a 2 month old need to be seen?",
    "How are seizures classified?",
    "Can a seizure cause brain damage?",
    "What is the recovery position for an unconscious person?",
    "How do you treat someone who is unconscious?",
    "What is carbon monoxide poisoning?",
    "What are the symptoms of food poisoning?",
    "Describe the signs of a stroke in women",
    "Tell me about heart attacks",
    "Can you tell me the symptoms of a stroke?",
    "I would like to know the symptoms of a heart attack",
    "I am writing an essay on suicide prevention",
    "Does ibuprofen cause stomach bleeding?",
    "How long should a burn be cooled under running water?",
    "At what home reading is high blood pressure diagnosed?",
    # suppositions and people in general
    "What should I do if I have a stroke?",
    "What should you do if someone is having a seizure?",
    "What to do when a person is unconscious and not breathing?",
    "How do I know if someone has taken an overdose?",
    "How can I tell if I am having a heart attack?",
    "People who can't breathe through their nose: what helps?",
    "Am I at risk of having a heart attack?",
    # denied
    "I have a cough but no chest pain and no shortness of breath",
    "She doesn't have chest pain and she can walk upstairs",
    "I'm not suicidal, I only feel tired",
    "I don't want to die young, which screening helps?",
    "My baby is 6 weeks old and has no fever",
    "without chest pain, can I exercise after my stent?",
    "my son has a stiff neck but no fever",
    "Mi padre no tiene dolor de pecho ni falta de aire",
    "Je n'ai pas mal à la poitrine, mais je suis essoufflé à l'effort",
    # past
    "I had a stroke in 2010, can I fly?",
    "My father had a heart attack two years ago. Which statin is best?",
    "When I was 16, I took 40 paracetamol tablets. Can my liver still be damaged?",
    "I took 30 paracetamol tablets in 2015, is my liver fine now?",
    "My brother killed himself. How do I cope?",
    "My daughter has a history of seizures, which vaccine is safe?",
    "Last year my throat was swelling up after peanuts, should I be tested?",
    "Mi madre tuvo un ictus hace tres años, ¿puede viajar?",
    "J'ai fait un AVC il y a deux ans, puis-je conduire ?",
    # everyday and chronic
    "I can't breathe through my nose at night",
    "I took 2 ibuprofen tablets, can I drink wine?",
    "I took 500 mg of paracetamol",
    "I took 20 mg of lisinopril this morning",
    "Do animals commit suicide?",
    "Why did she commit suicide in the novel?",
    "I take 12 pills a day, is that too many?",
    "My daughter won't wake up for school",
    "My gums are bleeding a lot when I brush",
    "My period is bleeding heavily this month",
    "My 3 year old has a fever of 38.5",
    "My 8 month old has a fever",
    "my son has epilepsy, can he swim?",
    "My husband was bitten by a tick",
    "How do I play chess with chest congestion?",
    "I have swollen feet in the evening",
    "I am cooking for a person with coeliac disease",
    "I was given 10 tablets of amoxicillin, do I finish them?",
    "I don't want to live with my parents during treatment",
    "Am I at risk of a stroke with this blood pressure?",
    "What is the suicide gene in bacteria?",
    "How do I change the brake pads of a bicycle?",
    "The heart attack scene in which film won a prize?",
    "Who wrote the song about a heart that stopped in 1999?",
    # Spanish and French
    "¿Cuáles son los síntomas de un infarto?",
    "¿Qué hacer ante un golpe de calor?",
    "¿Qué es un ictus?",
    "¿El dolor de pecho y la falta de aire son síntomas de ansiedad?",
    "¿Cómo se trata una sobredosis de paracetamol?",
    "¿Cuánto dura la fiebre en los niños?",
    "Quels sont les symptômes d'un AVC ?",
    "Qu'est-ce qu'un choc anaphylactique ?",
    "Comment reconnaître un infarctus ?",
    "Que faire en cas de brûlure ?",
    "Pourquoi la fièvre monte-t-elle le soir ?",
    "",
    "???",
]


@pytest.mark.parametrize(("question", "rule"), ROUTED, ids=[q for q, _ in ROUTED])
def test_an_emergency_that_is_happening_is_routed(question: str, rule: str) -> None:
    found = route(question, None)
    assert found is not None
    assert (found.rule, found.category) == (rule, "emergency")


@pytest.mark.parametrize("question", ORDINARY)
def test_an_ordinary_question_is_not_routed(question: str) -> None:
    assert route(question, None) is None


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(ROUTED) >= 60
    assert len(ORDINARY) >= 80
    assert {rule for _, rule in ROUTED} == {rule.id for rule in builtin_rules().rules}


@pytest.mark.parametrize(
    "style", [str.upper, str.lower, lambda q: q.replace("'", "’"), lambda q: f"  {q}\n\n!! "]
)
def test_case_apostrophes_and_white_space_do_not_matter(style: object) -> None:
    assert callable(style)
    assert [(r.rule if (r := route(style(q))) else None) for q, _ in ROUTED] == [rule for _, rule in ROUTED]


def test_accents_do_not_matter() -> None:
    for question, rule in ROUTED:
        found = route(fold(question).replace(" cant ", " can't "))
        assert found is not None, question
        assert found.rule == rule


@pytest.mark.parametrize(
    ("question", "lang", "words"),
    [
        ("My father has crushing chest pain and can't breathe", "en", "local emergency number"),
        ("mi padre está inconsciente", "es", "número local de emergencias"),
        (
            "mi padre está inconsciente",
            "en",
            "número local de emergencias",
        ),  # what matched beats a wrong detection
        ("ma mère a perdu connaissance", None, "numéro d'urgence local"),
        ("my toddler drank bleach", "en", "poison centre"),
        ("mi hijo ha bebido lejía", "es", "centro de información toxicológica"),
        ("je veux mourir", "fr", "ligne d'écoute"),
    ],
)
def test_the_message_speaks_the_language_of_the_question(question: str, lang: str | None, words: str) -> None:
    found = route(question, lang)
    assert found is not None
    assert words in found.message
    assert "112" in found.message
    assert any(
        said in found.message for said in ("not a diagnosis", "no un diagnóstico", "pas un diagnostic")
    )


def test_consumer_health_questions_are_answered_not_routed(shared: Path) -> None:
    lines = (shared / "data/liveqa_medquad/queries.jsonl").read_text("utf-8").splitlines()
    texts = {(row := json.loads(line))["id"]: row["text"] for line in lines}
    assert {key for key, text in texts.items() if route(text)} == {
        "TQ74"
    }  # "What to do for ... overdose?", see route.py


def test_general_questions_are_not_routed(shared: Path) -> None:
    with gzip.open(shared / "data/selfaware/questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        questions = [json.loads(line)["question"] for line in lines]
    assert [question for question in questions[:300] if route(question)] == []


def test_a_broken_rules_file_names_what_is_wrong(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "src/veraz/query/routes.toml").read_text("utf-8")
    broken = tmp_path / "routes.toml"
    broken.write_text(
        text.replace('alternatives = [["seizure_now"]]', 'alternatives = [["seizure_nwo"]]'), "utf-8"
    )
    with pytest.raises(ConfigError, match="rule seizure-now names seizure_nwo"):
        load_rules(broken)
    broken.write_text(text.replace("asks = [", "asks = ['(', ", 1), "utf-8")
    with pytest.raises(ConfigError, match=r"reading\.asks: not a regular expression"):
        load_rules(broken)
