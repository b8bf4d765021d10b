use regex::Regex;

use super::{expand, translate};

/// Every answer is Go's: the differential cases in `tests/cases/strings.txt` have most of them from real helm.
#[test]
fn expressions_match_what_go_matches() {
    for (expression, text, expected) in [
        (r"\w+", "é_a", Some("_a")),
        (r"\d+", "٣4", Some("4")),
        (r"\s+", "\u{a0}\u{b} \t", Some(" \t")),
        (r"\bé", "a é", None),
        (r"\W\D\S", "ab٣٣٣", Some("٣٣٣")),
        (r"\B", "é", Some("")),
        (r"[\w\D]+", "a1é", Some("a1é")),
        (r"[^\W]+", "éa_1é", Some("a_1")),
        ("[[a]b]", "a]", None),
        ("[[a]b]", "[b]", Some("[b]")),
        ("[a&&b]", "&", Some("&")),
        ("[+--b]+", ",b", Some(",b")),
        ("[a~~b]", "~", Some("~")),
        ("[]a]+", "a]", Some("a]")),
        ("[^]a]", "]ab", Some("b")),
        ("[a-]+", "-a", Some("-a")),
        (r"[\x{D800}-\x{E001}]", "\u{e000}", Some("\u{e000}")),
        (r"[\x{D800}]", "a", None),
        (r"[^\x{D800}]", "a", Some("a")),
        (r"\x{D800}|b", "b", Some("b")),
        ("[[:alpha:][:^ascii:]]+", "1aé", Some("aé")),
        ("[[:alpha]+", ":[x", Some(":[")),
        (r"\Qa.b\E+", "axb a.bb", Some("a.bb")),
        (r"\Qa.(", "a.(", Some("a.(")),
        ("a{,2}", "aa{,2}", Some("a{,2}")),
        ("a{02}{", "a{02}{", Some("a{02}{")),
        ("a{2}", "aaa", Some("aa")),
        ("a{1,2}?", "aa", Some("a")),
        ("(?U)a+", "aa", Some("a")),
        ("(?U)a+?", "aa", Some("aa")),
        ("(?U:a*)b*", "aabb", Some("")),
        ("a(?U)+", "aa", Some("a")),
        ("a(?i)+A", "aaa", Some("aaa")),
        ("a?(?i)?", "a", Some("a")),
        ("(?i)straſe|x(?-i)Y", "STRASE", Some("STRASE")),
        ("(?i:a)a", "Aa AA", Some("Aa")),
        ("(?)a", "a", Some("a")),
        ("(?m)^b$", "a\nb\nc", Some("b")),
        ("(?s).b", "\nb", Some("\nb")),
        (".b", "\nb", None),
        (r"\101\x42\x{43}\-\_\ é", "ABC-_ é", Some("ABC-_ é")),
        (r"\#x #", "#x #", Some("#x #")),
        (r"\pL\p{Lu}\P{^greek}\p{decimal_number}", "éÉα1", Some("éÉα1")),
        (r"[\p{Cs}\pN]", "1", Some("1")),
        (r"\p{Cs}", "1", None),
        (r"[\P{Cs}]", "1", Some("1")),
        ("(?P<n>a)(?<n>b)", "ab", Some("ab")),
    ] {
        let regex = Regex::new(&translate(expression).unwrap().text).unwrap();
        assert_eq!(regex.find(text).map(|found| found.as_str()), expected, "{expression} in {text}");
    }
}

#[test]
fn what_go_refuses_is_refused_in_its_words() {
    for (expression, expected) in [
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*?{2}?", "invalid nested repetition operator: `*?{2}?`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?-)a", "invalid or unsupported Perl syntax: `(?-)`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?<!b)a", "invalid named capture: `(?<!b)a`"),
        ("(?P<n y>a)", "invalid named capture: `(?P<n y>`"),
        ("(?<n", "invalid named capture: `(?<n`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (r"\p{Grek}", r"invalid character class range: `\p{Grek}`"),
        (r"\p", r"invalid character class range: `\p`"),
        (r"[\p{L", r"invalid character class range: `\p{L`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("x[b-a]", "invalid character class range: `b-a`"),
        ("x[a", "missing closing ]: `[a`"),
        ("[]", "missing closing ]: `[]`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{99999999999,}", "invalid repeat count: `{99999999999,}`"),
        ("(a{100}){100}", "invalid repeat count: `{100}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"[\b]", r"invalid escape sequence: `\b`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"\x1", r"invalid escape sequence: `\x1`"),
        (r"\é", r"invalid escape sequence: `\é`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(a", "missing closing ): `(a`"),
        ("a)b", "unexpected ): `a)b`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|(+?)", "missing argument to repetition operator: `+?`"),
    ] {
        assert_eq!(translate(expression).unwrap_err(), format!("error parsing regexp: {expected}"), "{expression}");
    }
}

#[test]
fn replacements_name_groups_as_go_does() {
    for (with, expected) in [
        ("$1", "a"),
        ("${1}x$1x", "ax"),
        ("$ä", ""),
        ("$$1 ${1", "$1 ${1"),
        ("$01 $9 $", "  $"),
        ("${n}", "b"),
        ("${99999999999999999999}", ""),
        ("$-", "$-"),
    ] {
        let translated = translate("(a)(?P<n>x)?(?P<n>b)").unwrap();
        let regex = Regex::new(&translated.text).unwrap();
        let mut out = String::new();
        expand(&regex.captures("ab").unwrap(), &translated.names, with, &mut out);
        assert_eq!(out, expected, "{with}");
    }
}
