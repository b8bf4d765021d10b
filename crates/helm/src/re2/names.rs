//! What Unicode calls classes of characters.

/// Categories: what each is called first, and other names of it.
const CATEGORIES: &str = "\
    c other; cc control cntrl; cf format; cn unassigned; co privateuse; cs surrogate; l letter; lc casedletter; ll \
    lowercaseletter; lm modifierletter; lo otherletter; lt titlecaseletter; lu uppercaseletter; m mark \
    combiningmark; mc spacingmark; me enclosingmark; mn nonspacingmark; n number; nd decimalnumber digit; nl \
    letternumber; no othernumber; p punctuation punct; pc connectorpunctuation; pd dashpunctuation; pe \
    closepunctuation; pf finalpunctuation; pi initialpunctuation; po otherpunctuation; ps openpunctuation; s \
    symbol; sc currencysymbol; sk modifiersymbol; sm mathsymbol; so othersymbol; z separator; zl lineseparator; zp \
    paragraphseparator; zs spaceseparator \
";

const SCRIPTS: &str = "\
    adlam ahom anatolianhieroglyphs arabic armenian avestan balinese bamum bassavah batak bengali bhaiksuki \
    bopomofo brahmi braille buginese buhid canadianaboriginal carian caucasianalbanian chakma cham cherokee \
    chorasmian common coptic cuneiform cypriot cyprominoan cyrillic deseret devanagari divesakuru dogra duployan \
    egyptianhieroglyphs elbasan elymaic ethiopic garay georgian glagolitic gothic grantha greek gujarati \
    gunjalagondi gurmukhi gurungkhema han hangul hanifirohingya hanunoo hatran hebrew hiragana imperialaramaic \
    inherited inscriptionalpahlavi inscriptionalparthian javanese kaithi kannada katakana kawi kayahli kharoshthi \
    khitansmallscript khmer khojki khudawadi kiratrai lao latin lepcha limbu lineara linearb lisu lycian lydian \
    mahajani makasar malayalam mandaic manichaean marchen masaramgondi medefaidrin meeteimayek mendekikakui \
    meroiticcursive meroitichieroglyphs miao modi mongolian mro multani myanmar nabataean nagmundari nandinagari \
    newa newtailue nko nushu nyiakengpuachuehmong ogham olchiki oldhungarian olditalic oldnortharabian oldpermic \
    oldpersian oldsogdian oldsoutharabian oldturkic olduyghur olonal oriya osage osmanya pahawhhmong palmyrene \
    paucinhau phagspa phoenician psalterpahlavi rejang runic samaritan saurashtra sharada shavian siddham \
    signwriting sinhala sogdian sorasompeng soyombo sundanese sunuwar sylotinagri syriac tagalog tagbanwa taile \
    taitham taiviet takri tamil tangsa tangut telugu thaana thai tibetan tifinagh tirhuta todhri toto tulutigalari \
    ugaritic vai vithkuqi wancho warangciti yezidi yi zanabazarsquare \
";

/// The items of the class of this name, as `regex` has them.
pub(super) fn class(name: &str, is_negated: bool) -> Option<String> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    let sign = if is_negated { 'P' } else { 'p' };
    let mut categories = CATEGORIES.split(';').map(str::split_ascii_whitespace);
    if let Some(short) = categories.find_map(|mut names| names.clone().find(|name| *name == plain).and(names.next())) {
        return Some(match (short, is_negated) {
            // No text has surrogates, and `regex` no name for them.
            ("cs", false) => "[^\\x{0}-\\x{10FFFF}]".to_owned(),
            ("cs", true) => "\\x{0}-\\x{10FFFF}".to_owned(),
            _ => format!("\\{sign}{{gc={short}}}"),
        });
    }
    if ["any", "ascii", "assigned"].contains(&plain.as_str()) {
        return Some(format!("\\{sign}{{{plain}}}"));
    }
    SCRIPTS.split_ascii_whitespace().any(|script| script == plain).then(|| format!("\\{sign}{{sc={plain}}}"))
}
