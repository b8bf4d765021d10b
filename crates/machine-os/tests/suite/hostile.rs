//! Whatever is written into a field, a document is sound or there is none.

use butler_api::shared::{OsType, Taint, TaintEffect};
use machine_os::{Bootstrap, Pool, bootstrap};
use pki::Secret;
use proptest::prelude::*;

use crate::check;
use crate::pool::{document, full};

/// Puts text into one of the fields.
const FIELDS: [fn(&mut Pool, String); 15] = [
    |pool, text| pool.cluster = text,
    |pool, text| pool.network.domain = text,
    |pool, text| pool.os.version = Some(text),
    |pool, text| pool.os.ssh_authorized_key = Some(text),
    |pool, text| pool.join.as_mut().unwrap().host = text,
    |pool, text| pool.join.as_mut().unwrap().token = Secret::new(text),
    |pool, text| drop(pool.labels.insert(text, String::new())),
    |pool, text| drop(pool.labels.insert("a".to_owned(), text)),
    |pool, text| pool.taints.push(Taint { key: text, value: None, effect: TaintEffect::NoSchedule }),
    |pool, text| pool.time_servers.push(text),
    |pool, text| drop(pool.mirrors.insert(text, vec!["https://a".to_owned()])),
    |pool, text| drop(pool.mirrors.insert("docker.io".to_owned(), vec![text])),
    |pool, text| drop(pool.kubelet_args.insert("max-pods".to_owned(), text)),
    |pool, text| pool.machine.hostname = Some(text),
    |pool, text| pool.machine.install_disk = Some(text),
];

/// Text that is nearly right, and text that means something to a shell, to systemd, YAML, TOML or JSON.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        "1",
        "-",
        ".",
        "/",
        ":",
        " ",
        "\n",
        "\"",
        "'",
        "`",
        "$(x)",
        "${x}",
        "\\",
        "#",
        "%",
        "{{",
        "}}",
        "=",
        ",",
        "[x]",
        "]]",
        "..",
        "https://",
        "/dev/",
        "kubernetes.io/",
        "ssh-rsa ",
        "\u{0}",
        "ä",
        "&",
        "*",
        "!",
        "|",
        ">",
        "---",
        "\t",
    ]);
    prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn documents_are_sound_or_there_are_none(os in 0..OsType::ALL.len(), field in 0..FIELDS.len(), text in text()) {
        let mut pool = full(OsType::ALL[os]);
        FIELDS[field](&mut pool, text.clone());
        if let Ok(made) = bootstrap(&pool) {
            let (format, document) = document(&pool);
            prop_assert_eq!(check::document(format, &document), Vec::<String>::new(), "{:?}", text);
            if let Bootstrap::Config(spec) = made {
                prop_assert_eq!(kernel::yaml::value(&document).unwrap(), spec, "{:?}", text);
            }
            prop_assert!(!text.contains(['\n', '"', '\'', '`', '$', '\\', '\u{0}']) || text.trim() != text, "{:?}", text);
        }
    }
}
