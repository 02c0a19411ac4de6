"""Words and labels of the demo web's languages, and sentences made of them.

Decides how text reads; never what a page holds. Sentences are plausible, not grammatical: they
need the letters, word lengths and stop words of the language, so that charset and language
detection have something to work on.
"""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Language:
    """One language: its words, how they are joined, and the labels of a page's furniture."""

    code: str
    words: tuple[str, ...]
    home: str
    related: str
    comments: str
    privacy: str
    charsets: tuple[str, ...]
    """Encodings that pages in this language are served in; the first is the usual one."""
    glue: str = " "
    stop: str = "."


_ENGLISH = """the of and to in is that for it as was with be by on not he his but at are this have
from or had an they which one you were her all she there would their we him been has when who will
more no if out so said what up its about into than them can only other new some could time these
two may then do first any my now such like our over man me even most made after also did many
before must through years where much your way well down should because each just those people
state good very make world still own see men work long get here between both life being under
never day same another know while last might us great old year off come since against go came
right used take three harbour village market garden bridge winter morning river letter teacher
engine station forest history museum window mountain summer kitchen doctor island journey"""

_GERMAN = """der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch
es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum
war haben nur oder aber vor zur bis mehr durch man sein wurde sei Jahr Stadt Straße Mädchen Brücke
Häuser schön größer später könnte müssen während zwischen gegenüber Frühling Gemüse Küche Wälder
Übung Öffnung Ärzte Prüfung Geschichte Gesellschaft Wirtschaft Wissenschaft Regierung Entwicklung
Bahnhof Morgen Sommer Winter Fenster Garten Berg Fluss Insel Reise Lehrer Schüler Brief Markt Dorf
Hafen Motor Museum Kind Leben Arbeit Welt Zeit Tag Nacht Wasser Feuer Himmel Erde Freund Familie"""

_FRENCH = """de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce
il sont la mais comme ou si leur y dont tout nous sa aux elle fait été aussi même cette avec ces
être après entre sans première très où années déjà école élève été hôtel forêt île château fenêtre
marché village rivière montagne jardin cuisine médecin voyage lettre gare histoire musée hiver été
printemps société économie science gouvernement développement pêche théâtre café garçon français
leçon façon naïf maïs père mère frère vie travail monde temps jour nuit eau feu ciel terre ami
famille maison rue pont port moteur enfant livre porte table lumière chemin campagne"""

_SPANISH = """de la que el en y a los se del las un por con no una su para es al lo como más o pero
sus le ha me si sin sobre este ya entre cuando todo esta ser son dos también fue había era muy años
hasta desde está mi porque qué sólo han yo hay vez puede todos así nos ni parte tiene él uno donde
bien tiempo mismo ese ahora cada vida otro después te otros aunque esa eso hace otra gobierno tan
durante siempre día tanto ella tres sí dijo sido gran país según menos año niño montaña mañana
corazón estación jardín río puente pueblo mercado ventana cocina médico viaje carta historia museo
invierno verano otoño primavera sociedad economía ciencia bosque isla castillo camino español"""

_RUSSIAN = """и в не на я быть он с что а по это она этот к но они мы весь который из у так же
от для вы свой за до как год человек время рука жизнь дело день большой новый первый последний
город дом дорога мост река гора лес остров деревня рынок окно кухня врач путешествие письмо
вокзал история музей зима лето осень весна общество экономика наука правительство развитие
учитель ученик школа двигатель гавань утро вечер ночь вода огонь небо земля друг семья ребёнок
книга дверь стол свет сказать мочь говорить знать стать видеть хотеть идти стоять думать
работать жить между после через перед почему когда потом здесь всегда очень ещё уже только можно
надо хорошо теперь тоже под над"""  # noqa: RUF001 - these letters are meant

_GREEK = """και το να του η της με που την από για είναι στο τα οι των σε ο τον ότι δεν θα στην
μια τη τους ένα αυτό κατά ως μας μετά πολύ όπως ήταν μπορεί έχει αλλά πρέπει χρόνια ημέρα
άνθρωπος ζωή κόσμος δουλειά πόλη σπίτι δρόμος γέφυρα ποτάμι βουνό δάσος νησί χωριό αγορά
παράθυρο κουζίνα γιατρός ταξίδι γράμμα σταθμός ιστορία μουσείο χειμώνας καλοκαίρι άνοιξη
φθινόπωρο κοινωνία οικονομία επιστήμη κυβέρνηση ανάπτυξη δάσκαλος μαθητής σχολείο μηχανή λιμάνι
πρωί βράδυ νύχτα νερό φωτιά ουρανός γη φίλος οικογένεια παιδί βιβλίο πόρτα τραπέζι φως λέξη ώρα
τώρα πάντα εδώ εκεί όταν γιατί πρώτος νέος"""  # noqa: RUF001 - these letters are meant

_JAPANESE = """私は 彼が 町の 川を 山に 春の 夏は 秋の 冬に 学校で 先生は 学生が 本を 手紙を
駅で 橋の 森を 島へ 旅行の 市場で 窓を 台所で 医者は 歴史の 博物館で 社会の 経済は 科学が
政府は 発展を 朝の 夜に 水を 火の 空は 大地の 友達と 家族の 子供が 扉を 光の 世界で 時間を
仕事の 人生は 新しい 古い 大きな 小さな 静かな 美しい 長い 高い 遠くの 近くの とても まだ もう
いつも ここで そこに それから しかし そして または 読んだ 書いた 見える 歩いた 話した 聞いた
考えた 作った 開いた 始まる 終わる 続いた 変わる 残った 思い出す 知られている 行われた"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


LANGUAGES = (
    Language("en", _words(_ENGLISH), "Home", "Related", "Comments", "Privacy", ("utf-8",)),
    Language(
        "de",
        _words(_GERMAN),
        "Startseite",
        "Verwandte Artikel",
        "Kommentare",
        "Datenschutz",
        ("utf-8", "utf-8", "iso-8859-1"),
    ),
    Language(
        "ru",
        _words(_RUSSIAN),
        "Главная",
        "Читайте также",
        "Комментарии",
        "Конфиденциальность",
        ("utf-8", "windows-1251"),
    ),
    Language(
        "fr",
        _words(_FRENCH),
        "Accueil",
        "À lire aussi",
        "Commentaires",
        "Confidentialité",
        ("utf-8", "utf-8", "iso-8859-1"),
    ),
    Language(
        "ja",
        _words(_JAPANESE),
        "ホーム",
        "関連記事",
        "コメント",
        "個人情報",
        ("utf-8", "shift_jis"),
        glue="",
        stop="。",
    ),
    Language(
        "es",
        _words(_SPANISH),
        "Inicio",
        "Relacionados",
        "Comentarios",
        "Privacidad",
        ("utf-8", "utf-8", "iso-8859-1"),
    ),
    Language("el", _words(_GREEK), "Αρχική", "Σχετικά", "Σχόλια", "Απόρρητο", ("utf-8",)),
)

SLUGS = _words(
    """amber basin cedar delta ember fjord grove haven inlet jetty knoll ledge maple north ocean
    prairie quarry ridge spring tundra upland valley willow yarrow zephyr anchor beacon candle
    drifter echo ferry gallery"""
)
SECTIONS = ("news", "travel", "science", "culture", "sport", "opinion", "food", "archive")


def phrase(rng: Random, language: Language, count: int) -> str:
    """`count` words, the first letter a capital."""
    text = language.glue.join(rng.choices(language.words, k=count))
    return text[:1].upper() + text[1:]


def paragraph(rng: Random, language: Language, sentences: int) -> str:
    """A paragraph of `sentences` sentences on one line."""
    lengths = rng.choices(range(7, 17), k=sentences)
    stop = language.stop + language.glue
    return stop.join(phrase(rng, language, length) for length in lengths) + language.stop
