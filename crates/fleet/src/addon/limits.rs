//! What the limits of a team say of addons. Pure.

use butler_api::butler::team::TeamLimits;

/// Why the limits of a team forbid an addon; without a name, it is a chart of the team's own.
pub(crate) fn denied(limits: &TeamLimits, team: &str, addon: Option<&str>) -> Option<String> {
    let is_open = limits.allowed_addons.is_empty();
    let Some(addon) = addon else {
        return (!is_open)
            .then(|| format!("Team {team} may use only addons that it is allowed by name, and no charts"));
    };
    let is_listed = |list: &[String]| list.iter().any(|name| name == addon);
    let is_denied = is_listed(&limits.denied_addons) || !(is_open || is_listed(&limits.allowed_addons));
    is_denied.then(|| format!("Team {team} may not use the addon {addon}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_use_what_their_limits_allow() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (allowed, forbidden, addon, is_denied) in [
            (list(&[]), list(&[]), Some("a"), false),
            (list(&[]), list(&["a"]), Some("a"), true),
            (list(&["a"]), list(&[]), Some("a"), false),
            (list(&["b"]), list(&[]), Some("a"), true),
            (list(&["a"]), list(&["a"]), Some("a"), true),
            (list(&[]), list(&["a"]), None, false),
            (list(&["a"]), list(&[]), None, true),
        ] {
            let limits = TeamLimits { allowed_addons: allowed, denied_addons: forbidden, ..Default::default() };
            assert_eq!(denied(&limits, "t", addon).is_some(), is_denied, "{limits:?} {addon:?}");
        }
    }
}
